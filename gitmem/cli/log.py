"""gitmem log: what happened."""

import argparse

from gitmem.cli.options import add_change_options, count, take_words_anywhere
from gitmem.core.model import Kind

HELP = "show what happened, newest first"

_KINDS = sorted(str(kind) for kind in Kind if kind is not Kind.CHECKPOINT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="only commits that touch these files or folders")
    add("-n", "--max-count", type=count, metavar="N", help="at most N commits")
    add("-p", "--patch", action="store_true", help="show what each commit changed")
    add("--oneline", action="store_true", help="only the id and the subject")
    add(
        "--since",
        "--after",
        metavar="WHEN",
        help="not older: '2h ago', yesterday, 2026-01-31, 'last dream', ...",
    )
    add("--until", "--before", metavar="WHEN", help="not newer; a day counts to its end")
    add(
        "--kind",
        action="append",
        choices=_KINDS,
        metavar="KIND",
        help=f"only commits of this kind, may be repeated: {', '.join(_KINDS)}",
    )
    add("--session", metavar="KEY", help="only commits about this session, as in telegram:42")
    add_change_options(parser)
    take_words_anywhere(parser, "paths")
    parser.epilog = (
        "examples:\n"
        "  gitmem log --since yesterday --stat\n"
        "  gitmem log --kind dream -p -n 1\n"
        "  gitmem log --session telegram:42\n"
        "  gitmem log -- memory/MEMORY.md skills\n\n"
        "With --json: one object a line, newest first. The run state of unfinished turns is not part of this\n"
        "history but kept beside it: gitmem git log refs/gitmem/inflight/HOST"
    )


def run(args: argparse.Namespace) -> int:
    """Print the commits that match."""
    from gitmem.cli.look import log

    return log.run(args)
