"""gitmem consolidate: archive old messages of sessions in the history."""

import argparse

from gitmem.cli.options import count

HELP = "archive old messages of sessions as history entries"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "sessions", nargs="*", metavar="SESSION", help="session keys; by default, those that need it"
    )
    parser.add_argument("--all", action="store_true", help="every session, whether it needs it or not")
    parser.add_argument(
        "--keep",
        type=count,
        default=8,
        metavar="N",
        help="leave at most the last N messages of a named session (default: 8)",
    )
    parser.add_argument(
        "--force", action="store_true", help="also change sessions that an agent may hold in memory"
    )
    parser.epilog = """examples:
  gitmem consolidate                        # sessions near the model's context window, or past 2,000 messages
  gitmem consolidate cli:direct --keep 0    # all of one
Each chunk is a commit that gitmem revert takes back. Without a model (gitmem config model NAME), or when it fails,
the messages themselves go into the history."""


def run(args: argparse.Namespace) -> int:
    """Archive, chunk by chunk."""
    from gitmem.cli.engine import Telling
    from gitmem.cli.opening import opened_workspace
    from gitmem.engine import engine

    with opened_workspace(args) as opened:
        work = engine(opened)
        work.commit_all()
        told = Telling(args)
        work.committed = told.commits(work.committed)
        paths = [work.path_of(key) for key in args.sessions] or work.sessions()
        for path in paths:
            if not args.force and (why := work.in_use(path)):
                told.left(path, why, named=bool(args.sessions))
                continue
            chunks = work.archive(path, args.keep) if args.sessions or args.all else work.relieve(path)
            for chunk in chunks:
                told.summary(chunk.failure)
        return told.end("Nothing to archive.")
