"""gitmem memory: what is remembered, and where each fact came from."""

import argparse

from gitmem.cli.options import take_words_anywhere

HELP = "show what is remembered, and where each fact came from"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="SOUL.md, USER.md and memory/MEMORY.md by default"
    )
    parser.add_argument("--skills", action="store_true", help="also every skill")
    take_words_anywhere(parser, "files")
    parser.epilog = (
        "examples:\n"
        "  gitmem memory\n"
        "  gitmem memory USER.md --json\n"
        "  gitmem memory --skills\n\n"
        "Left of each fact: the commit that brought it as it stands, its kind, and the history entries it was made\n"
        "of, where the commit names them. Further: gitmem show COMMIT, gitmem history search TEXT --past"
    )


def run(args: argparse.Namespace) -> int:
    """Print the files."""
    from gitmem.cli.look import memory

    return memory.run(args)
