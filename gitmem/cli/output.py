"""Writing for people and programs: colour, pager, JSON, times.

Results go to stdout. What ends on a terminal has its control characters escaped (a memory file may hold
escape sequences); what goes into a pipe or a file is exact. A pager is taken from the environment only,
never from a repository's configuration.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TypeAlias

from gitmem.core.printable import printable

Part: TypeAlias = str | tuple[str, str]
"""A piece of a line: a text, or a text and its style (names of `_STYLES`, joined by blanks)."""

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    (90, 1, "second"),
    (90 * _MINUTE, _MINUTE, "minute"),
    (36 * _HOUR, _HOUR, "hour"),
    (14 * _DAY, _DAY, "day"),
    (70 * _DAY, 7 * _DAY, "week"),
    (730 * _DAY, 30.44 * _DAY, "month"),
    (float("inf"), 365.25 * _DAY, "year"),
)
"""Up to how many seconds which unit is used; the limits are git's."""


@dataclass(frozen=True)
class Screen:
    """Where a command's text for people goes.

    Attributes:
        stream: Takes the bytes.
        colour: Whether to colour.
        terminal: Whether it ends on a terminal, perhaps through a pager.
        encoding: Of the terminal.
    """

    stream: IO[bytes]
    colour: bool
    terminal: bool
    encoding: str = "utf-8"

    def line(self, *parts: Part) -> None:
        """Write a line."""
        self.text(*parts, "\n")

    def text(self, *parts: Part) -> None:
        """Write without a line end."""
        self.stream.write(b"".join(self._encoded(part) for part in parts))

    def _encoded(self, part: Part) -> bytes:
        text, style = part if isinstance(part, tuple) else (part, "")
        if not self.terminal:
            data = text.encode("utf-8", "surrogateescape")
        else:
            data = printable(text).encode(self.encoding, "backslashreplace")
        codes = ";".join(_STYLES[name] for name in style.split())
        return b"\x1b[%sm%s\x1b[m" % (codes.encode(), data) if self.colour and codes else data

    def raw(self, data: bytes) -> None:
        """Write exact bytes."""
        self.stream.write(data)


@contextmanager
def screen(args: argparse.Namespace, *, pager: bool = True) -> Iterator[Screen]:
    """The screen of a command, through a pager when stdout is a terminal.

    A reader that goes away (the pager was left, `| head`) ends the block quietly: that is success.

    Args:
        args: `color` is read.
        pager: False for output that is known to be short.
    """
    terminal = sys.stdout.isatty()
    colour = wants_colour(args.color, os.environ, terminal=terminal)
    command = pager_command(os.environ) if terminal and pager else None
    sys.stdout.flush()
    if command is None:
        yield Screen(sys.stdout.buffer, colour, terminal, _encoding())
        sys.stdout.buffer.flush()
        return
    with _through(command) as stream:
        yield Screen(stream, colour, terminal, _encoding())


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"


@contextmanager
def _through(command: list[str]) -> Iterator[IO[bytes]]:
    """A pager's input; it is waited for, also when the person presses ^C in it."""
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    stream = process.stdin
    if stream is None:  # cannot be: a pipe was asked for
        raise BrokenPipeError
    try:
        with suppress(BrokenPipeError):
            yield stream
    finally:
        with suppress(BrokenPipeError):
            stream.close()
        _wait(process)


def _wait(process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            process.wait()
        except KeyboardInterrupt:
            continue  # it was meant for the pager
        return


def pager_command(environment: Mapping[str, str]) -> list[str] | None:
    """The pager to start: `GITMEM_PAGER`, else `PAGER`, else less; None where it is absent, empty or cat."""
    words = environment.get("GITMEM_PAGER", environment.get("PAGER", "less"))
    try:
        command = shlex.split(words)
    except ValueError:
        return None
    found = shutil.which(command[0], path=environment.get("PATH")) if command else None
    if found is None or command == ["cat"] or environment.get("TERM") == "dumb":
        return None
    return [found, *command[1:]]


def wants_colour(choice: str, environment: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether to colour: `--color` decides, then NO_COLOR, CLICOLOR_FORCE, TERM=dumb, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return terminal and environment.get("TERM") != "dumb"


def print_json(document: object) -> None:
    """Print a document on one line; ASCII escapes where the text cannot be encoded otherwise."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        text = json.dumps(document)
    sys.stdout.write(text + "\n")


def relative_time(when: float, now: float) -> str:
    """How long ago, in words: `5 minutes ago`, `in 3 hours`.

    Args:
        when: Unix seconds.
        now: Unix seconds.
    """
    distance = abs(now - when)
    unit, name = next((unit, name) for limit, unit, name in _STEPS if distance < limit)
    count = int(distance / unit + 0.5)
    if count == 0:
        return "just now"
    words = f"{count} {name}{'' if count == 1 else 's'}"
    return f"{words} ago" if when <= now else f"in {words}"
