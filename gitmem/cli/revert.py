"""gitmem revert: take back one change alone."""

import argparse

from gitmem.cli.options import add_change_options

HELP = "take back one change and keep all later ones"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    add_change_options(parser)
    parser.add_argument(
        "commits", nargs="+", metavar="COMMIT", help="what to take back: an id, HEAD, 'last dream', ..."
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and do nothing")
    parser.add_argument(
        "--force", action="store_true", help="also change sessions that an agent may hold in memory"
    )
    parser.epilog = "examples:\n  gitmem revert HEAD\n  gitmem revert --dry-run 'last dream'"


def run(args: argparse.Namespace) -> int:
    """Plan the inverse and apply it."""
    from gitmem.actions import undo
    from gitmem.actions.inspect import resolve
    from gitmem.cli.opening import opened_workspace
    from gitmem.cli.undoing import carry_out

    with opened_workspace(args) as opened:
        commits = [resolve(opened.repo, words) for words in args.commits]
        return carry_out(opened, args, lambda: undo.plan_revert(opened, commits))
