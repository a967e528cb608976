"""gitmem show: one commit and what it changed."""

import argparse

from gitmem.cli.options import WHEN, add_change_options, take_words_anywhere

HELP = "show one commit and what it changed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("when", nargs="*", metavar="WHEN", help=f"{WHEN} the newest commit by default")
    add_change_options(parser)
    take_words_anywhere(parser, "when")
    parser.epilog = (
        "examples:\n"
        "  gitmem show\n"
        "  gitmem show last dream\n"
        "  gitmem show 1a2b3c4d --raw -- sessions\n\n"
        "A merge is shown as what it brought to its first parent. In sessions, ~ marks a record changed in place."
    )


def run(args: argparse.Namespace) -> int:
    """Print the commit."""
    from gitmem.cli.look import show

    return show.run(args)
