"""gitmem history: the queue of archived pieces."""

import argparse

from gitmem.cli.options import count, take_words_anywhere

HELP = "list or search what was archived from conversations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.usage = (
        "gitmem history [list | tail | search TEXT] [-n N] [--after CURSOR] [--session KEY] [--full] [--past]"
    )
    add = parser.add_argument
    add(
        "what",
        nargs="?",
        choices=("list", "tail", "search"),
        default="list",
        help="list: all entries (the default); tail: the last 10; search: those that hold a text",
    )
    add("text", nargs="*", metavar="TEXT", help="what to search for; upper and lower case are the same")
    add("-n", "--max-count", type=count, metavar="N", help="at most the last N entries")
    add("--after", dest="above", type=count, metavar="CURSOR", help="only entries with a greater cursor")
    add("--session", metavar="KEY", help="only entries of this session, as in telegram:42")
    add("--full", action="store_true", help="whole texts, not just a line of each")
    add("--past", action="store_true", help="also entries that were compacted away since: git kept them")
    take_words_anywhere(parser, "text")
    parser.epilog = (
        "examples:\n"
        "  gitmem history tail\n"
        "  gitmem history search backups --past\n"
        "  gitmem history --session telegram:42 --after 14 --full\n\n"
        "Each entry: its cursor, when it was written, whether a Dream has processed it, its session, its text.\n"
        "Where they come from: gitmem log --kind consolidate. What becomes of them: gitmem dream"
    )


def run(args: argparse.Namespace) -> int:
    """Print the entries that match."""
    from gitmem.cli.look import history

    return history.run(args)
