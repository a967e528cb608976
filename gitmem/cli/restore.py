"""gitmem restore: files as they were."""

import argparse

from gitmem.cli.options import add_change_options

HELP = "bring files back as they were"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    add_change_options(parser)
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="files or folders, as in gitmem log --stat; . for all"
    )
    parser.add_argument(
        "--at", required=True, metavar="WHEN", help="an id, HEAD~3, '2h ago', 'before last dream', a date"
    )
    parser.add_argument(
        "--exact", action="store_true", help="also remove files of a folder that did not exist then"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and do nothing")
    parser.add_argument(
        "--force", action="store_true", help="also change sessions that an agent may hold in memory"
    )
    parser.epilog = """examples:
  gitmem restore memory/MEMORY.md --at yesterday
  gitmem restore . --at HEAD   (after files were lost)"""


def run(args: argparse.Namespace) -> int:
    """Plan the restore and apply it."""
    from gitmem.actions import undo
    from gitmem.actions.inspect import resolve
    from gitmem.cli.look.commits import tree_paths
    from gitmem.cli.opening import opened_workspace
    from gitmem.cli.undoing import carry_out

    with opened_workspace(args) as opened:
        at = resolve(opened.repo, args.at)
        paths = tree_paths(opened.workspace, args.directory, args.paths)
        return carry_out(opened, args, lambda: undo.plan_restore(opened, paths, at, exact=args.exact))
