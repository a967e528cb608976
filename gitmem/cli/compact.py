"""gitmem compact: archive idle sessions and keep only their last messages; drop old history entries that Dream has taken in."""

import argparse

HELP = "shorten idle sessions and the history queue; git keeps every earlier state"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "sessions", nargs="*", metavar="SESSION", help="session keys; by default, those that are idle"
    )
    parser.add_argument(
        "--idle",
        type=float,
        metavar="MINUTES",
        help="what counts as idle (default: session_ttl, or nothing when that is 0)",
    )
    parser.add_argument(
        "--force", action="store_true", help="also change sessions that an agent may hold in memory"
    )
    parser.epilog = """examples:
  gitmem compact --idle 60        # sessions without a save for an hour
  gitmem compact cli:direct       # one
What is not archived yet goes into the history first; then the file keeps its last turns, at most 8 messages.
The queue keeps max_history_entries entries, and all that no Dream has seen."""


def run(args: argparse.Namespace) -> int:
    """Compact."""
    from gitmem.cli.engine import Telling
    from gitmem.cli.opening import opened_workspace
    from gitmem.engine import engine

    with opened_workspace(args) as opened:
        told = Telling(args)
        work = engine(opened)
        work.commit_all()
        work.committed = told.commits(work.committed)
        minutes = opened.settings.session_ttl if args.idle is None else args.idle
        idle = work.idle(minutes) if minutes or args.idle is not None else []
        for path in [work.path_of(key) for key in args.sessions] or idle:
            if not args.force and (why := work.in_use(path)):
                told.left(path, why, named=bool(args.sessions))
                continue
            for chunk in work.compact(path):
                told.summary(chunk.failure)
        if not args.sessions:
            work.compact_history()
        return told.end("Nothing to compact.")
