"""gitmem diff: what differs between two moments, or between one and the files on disk."""

import argparse

from gitmem.cli.options import add_change_options, take_words_anywhere

HELP = "show what differs between two moments, or one and the disk"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="FROM TO PATH",
        help="one or two moments, and the files or folders to look at; each may be left out",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 when something differs")
    add_change_options(parser)
    take_words_anywhere(parser, "words")
    parser.epilog = (
        "examples:\n"
        "  gitmem diff                       the disk against the newest commit\n"
        "  gitmem diff yesterday             the disk against the end of yesterday\n"
        "  gitmem diff before last dream last dream\n"
        "  gitmem diff HEAD~3 HEAD --stat -- memory\n\n"
        "FROM and TO are ids, HEAD~3, branches, dates, '2h ago', 'last dream' and the like. Sessions on disk are\n"
        "compared without the fields that belong to a running turn, as they would be committed."
    )


def run(args: argparse.Namespace) -> int:
    """Print the differences."""
    from gitmem.cli.look import diff

    return diff.run(args)
