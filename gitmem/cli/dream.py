"""gitmem dream: take history entries into long-term memory."""

import argparse
from collections.abc import Iterable
from typing import Any

from gitmem.cli.options import add_change_options

HELP = "take new history entries into long-term memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    add_change_options(parser)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("run", "accept", "reject"),
        default="run",
        help="decide about a proposal that --review left",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what the next batch would change")
    parser.add_argument(
        "--review", action="store_true", help="leave the next batch's edits for you to decide"
    )
    parser.epilog = """examples:
  gitmem dream                 # all batches that wait
  gitmem dream --dry-run       # the next one, as a diff
  gitmem dream --review        # then: gitmem dream accept, or: gitmem dream reject
  gitmem revert 'last dream'   # take one back; later ones stay
The model proposes edits, each with the history entries it is made of; they are checked before anything is written.
A run that fails changes nothing. How to set a model: docs/model.md."""


def run(args: argparse.Namespace) -> int:
    """Dream, propose, or decide."""
    from gitmem.cli.engine import Telling
    from gitmem.cli.opening import opened_workspace
    from gitmem.engine import engine

    with opened_workspace(args) as opened:
        work = engine(opened)
        if args.what == "run" and (args.dry_run or args.review):
            return _propose(args, work)
        told = Telling(args)
        work.committed = told.commits(work.committed)
        if args.what != "run":
            work.decide(accepted=args.what == "accept")
        else:
            for _ in work.dream():
                pass
        return told.end("Nothing to dream: no new history entries.")


def _propose(args: argparse.Namespace, work: Any) -> int:
    """Show what the next batch would change; with --review, keep it."""
    from gitmem.cli.look.changes import write
    from gitmem.cli.output import print_json, screen

    proposal = work.propose()
    kept = work.keep_for_review(proposal) if proposal is not None and args.review else None
    if args.json:
        files = [] if proposal is None else sorted(proposal.files)
        entries = [] if proposal is None else [entry.cursor for entry in proposal.batch.entries]
        print_json({"entries": entries, "files": files, "proposal": None if kept is None else kept.sha})
        return 0
    if proposal is None:
        print("Nothing to dream: no new history entries.")
        return 0
    with screen(args) as out:
        write(out, proposal.changes, args)
        for line in _last_words(proposal.changes, kept):
            out.line(line)
    return 0


def _last_words(changes: Iterable[Any], kept: Any) -> Iterable[str]:
    if not any(changes):
        yield "Nothing in this batch is worth keeping."
    if kept is None:
        yield "Nothing was changed."
    else:
        yield "Decide with: gitmem dream accept, or: gitmem dream reject"
