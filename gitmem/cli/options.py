"""Options that several verbs share. Only the standard library: the parser is built for every command."""

import argparse

WHEN = "an id, HEAD~3, a branch, a date, '2h ago', 'noon yesterday', 'last dream', ..."


def count(text: str) -> int:
    """A number that is not negative, as an argument type."""
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def add_change_options(parser: argparse.ArgumentParser) -> None:
    """How changes of files are shown."""
    parser.add_argument("--stat", action="store_true", help="only count the lines of each file")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="exact lines of .jsonl files too, as a patch that git apply takes; one message a line by default",
    )
    parser.add_argument(
        "-U",
        "--unified",
        type=count,
        default=3,
        metavar="N",
        help="lines of context around changes (default: 3)",
    )
