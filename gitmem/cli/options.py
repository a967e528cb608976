"""Options that several verbs share. Only the standard library: the parser is built for every command."""

import argparse
from collections.abc import Sequence

WHEN = "an id, HEAD~3, a branch, a date, '2h ago', 'noon yesterday', 'last dream', ..."


def count(text: str) -> int:
    """A number that is not negative, as an argument type."""
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def take_words_anywhere(parser: argparse.ArgumentParser, name: str) -> None:
    """Let words stand before and behind options, and keep those behind `--` apart as `args.after`, as git does.

    argparse refuses words that come after an option came after words, and forgets where `--` stood.

    Args:
        parser: Of a subcommand.
        name: Its positional argument, a list.
    """
    parse = parser.parse_known_args

    def parse_known_args(
        args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(args or ())
        cut = words.index("--") if "--" in words else len(words)
        found, extras = parse(words[:cut], namespace)
        setattr(found, name, [*getattr(found, name), *(word for word in extras if not word.startswith("-"))])
        found.after = words[cut + 1 :]
        return found, [word for word in extras if word.startswith("-")]

    setattr(parser, "parse_known_args", parse_known_args)  # noqa: B010  (mypy lets no method be replaced otherwise)


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


def common_options(*, below: bool = False) -> argparse.ArgumentParser:
    """The options every command has, as a parent parser.

    Args:
        below: For the words below a verb (`remote add`): what was said before them counts on.
    """
    silent = argparse.SUPPRESS
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "-C", dest="directory", metavar="DIR", default=silent, help="run as if started in DIR"
    )
    common.add_argument(
        "--json",
        action="store_true",
        default=silent if below else False,
        help="print one JSON document (JSON lines for log) and nothing else",
    )
    common.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=silent if below else "auto",
        help="when to colour",
    )
    return common
