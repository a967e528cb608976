"""gitmem cat: a file as it was."""

import argparse

HELP = "print a file as it was"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH[@WHEN]", help="a file, and when; as last committed by default"
    )
    parser.add_argument("--at", metavar="WHEN", help="when, for several files or one whose name holds an @")
    parser.epilog = (
        "examples:\n"
        "  gitmem cat memory/MEMORY.md@yesterday\n"
        "  gitmem cat 'USER.md@before last dream'\n"
        "  gitmem cat sessions/telegram_42.jsonl --at HEAD~3 > old.jsonl\n\n"
        "Into a pipe or a file the exact bytes are written; a terminal is shown control characters as escapes."
    )


def run(args: argparse.Namespace) -> int:
    """Print the files one after the other."""
    from gitmem.cli.look import cat

    return cat.run(args)
