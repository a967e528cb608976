"""Records of JSON Lines files that grow, are torn, damaged, or rewritten by somebody else.

Lines end at LF only (case B18: U+2028 and the like are legal inside strings). Nothing here raises, whatever
the bytes: what cannot be read is reported beside what can, and every byte of the file is still in the result.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gitmem.core.jsontext import JsonObject, Member, canonical, dump, members, rewrite, without_members

__all__ = [
    "JsonObject",
    "Jsonl",
    "Line",
    "Member",
    "canonical",
    "decode",
    "dump",
    "identity",
    "is_torn",
    "join",
    "lines_of",
    "members",
    "parse",
    "rewrite",
    "without_members",
]

_BOM = "\ufeff"
_MARKER = re.compile(rb"(?:<{7}|>{7}|\|{7})(?: [^\n]*)?|={7}")
"""A line that git leaves where it could not merge."""
_MAX_DEPTH = 200
_MAX_DIGITS = 4000
"""Python refuses to turn more digits than about this into an int."""
_SEGMENT = re.compile(r"\0*+[^\0]++(?:\0++\Z)?|\0++")
"""Text with the NUL run before it, and the one that ends the line."""
_JUNK = "\0 \t\r"
_JUNK_RUN = re.compile(f"[{_JUNK}]*+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or one of several records that stand on one line because a writer forgot the LF between them.

    Attributes:
        number: Line number in the file, from 1.
        raw: Its bytes without the LF (a CR is kept).
        value: The JSON object on it; None where there is none.
        problem: What is wrong with it. With a value: what was around the record, which was read all the same.
        glued: Whether it stands on the same line as the one before.
    """

    number: int
    raw: bytes
    value: JsonObject | None
    problem: str | None = None
    glued: bool = False

    @property
    def blank(self) -> bool:
        """Whether there is nothing on it at all."""
        return self.value is None and self.problem is None

    @property
    def marker(self) -> bool:
        """Whether it is a conflict marker left by a merge (case B74)."""
        return self.value is None and _MARKER.fullmatch(self.raw.rstrip(b"\r")) is not None

    @property
    def record(self) -> bytes:
        """The bytes of the record alone, without the NUL bytes or byte order mark around it."""
        return self.raw.removeprefix(_BOM.encode()).replace(b"\0", b"")


@dataclass(frozen=True, slots=True)
class Jsonl:
    """A parsed file.

    Attributes:
        lines: Every line in order, blank and damaged ones included.
        torn: The last line has no LF and is no complete object: its writer is in the middle of it, or was
            killed there.
        ended: The last line has its LF.
    """

    lines: tuple[Line, ...]
    torn: bool
    ended: bool

    @property
    def records(self) -> Iterator[Line]:
        """The lines that hold a record."""
        return (line for line in self.lines if line.value is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, one sentence per damaged line, each with its line number."""
        return tuple(f"line {line.number}: {line.problem}" for line in self.lines if line.problem)


def parse(data: bytes) -> Jsonl:
    """Read a JSON Lines file; linear in its size, and never an exception."""
    ended = data.endswith(b"\n")
    raws = data.split(b"\n")
    if ended or not data:
        raws.pop()
    lines = [line for number, raw in enumerate(raws, 1) for line in lines_of(number, raw)]
    torn = bool(lines) and not ended and _incomplete(lines[-1])
    return Jsonl(tuple(lines), torn, ended)


def is_torn(data: bytes) -> bool:
    """Whether the file ends in the middle of a record; looks at its last line only."""
    start = data.rfind(b"\n") + 1
    lines = lines_of(2 if start else 1, data[start:])
    return _incomplete(lines[-1])


def join(lines: Iterable[Line], *, ended: bool = True) -> bytes:
    """A file of these lines: an LF between two that were not glued, and behind the last if `ended`."""
    parts: list[bytes] = []
    for line in lines:
        if parts and not line.glued:
            parts.append(b"\n")
        parts.append(line.raw)
    if parts and ended:
        parts.append(b"\n")
    return b"".join(parts)


def identity(value: object) -> str:
    """The sha256 (hex) of a JSON value; the same for equal values, whatever the order of their members."""
    return hashlib.sha256(canonical(value)).hexdigest()


def decode(raw: bytes) -> JsonObject | None:
    """The JSON object that the bytes are, or None; never an exception."""
    return _decode(raw)[0]


def _incomplete(line: Line) -> bool:
    return line.value is None and not line.blank


def lines_of(number: int, raw: bytes) -> list[Line]:
    """Read one line (without its LF): one `Line`, or several for records glued together; never none."""
    value, problem = _decode(raw)
    if problem is None:
        return [Line(number, raw, value)]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return [Line(number, raw, None, problem)]
    begin = 1 if number == 1 and text.startswith(_BOM) else 0
    return [_read_piece(number, index, piece) for index, piece in enumerate(_pieces(text, begin))]


def _decode(raw: bytes) -> tuple[JsonObject | None, str | None]:
    """The object, or what is wrong; neither for a blank line."""
    try:
        value = _loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return None, "not valid UTF-8"
    except RecursionError:
        return None, "nested too deeply"
    except ValueError:
        return None, None if not raw.strip() else "not valid JSON"
    if not isinstance(value, dict):
        return None, "not a JSON object"
    return value, None


def _loads(text: str) -> Any:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python turns into an int
        value = json.loads(text, parse_int=_integer)
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        check_depth(value)
    return value


def _integer(digits: str) -> int | str:
    """A number too long for an int stays text: a value that differs for different numbers."""
    return digits if len(digits) > _MAX_DIGITS else int(digits)


_DECODER = json.JSONDecoder(parse_int=_integer)


def check_depth(value: object) -> None:
    """Refuse what could be parsed but not be written again from a deeper place of the program.

    Raises:
        RecursionError: It is nested too deeply.
    """
    level: list[object] = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise RecursionError


def _pieces(text: str, begin: int) -> list[str]:
    """Cut a line into its records and what is between them; the pieces together are the line (B14, B74).

    A record starts at the start of the line, behind a run of NUL bytes, or behind another record.
    """
    cuts = [0]
    for segment in _SEGMENT.finditer(text, begin):
        start = 0
        while end := _record_end(segment[0], start):
            if segment.start() + start > begin:
                cuts.append(segment.start() + start)
            cuts.append(segment.start() + end)
            start = end
    return [text[start:end] for start, end in itertools.pairwise([*cuts, len(text)]) if start < end]


def _record_end(segment: str, start: int) -> int | None:
    """Where the record that starts behind the junk at `start` ends; with the junk that ends the segment."""
    first = _past_junk(segment, start)
    if not segment.startswith("{", first):
        return None
    try:
        _, end = _DECODER.raw_decode(segment, first)
    except (ValueError, RecursionError):
        return None
    rest = _past_junk(segment, end)
    return rest if rest == len(segment) else end


def _past_junk(text: str, start: int) -> int:
    run = _JUNK_RUN.match(text, start)
    return run.end() if run else start


def _read_piece(number: int, index: int, piece: str) -> Line:
    raw = piece.encode()
    text = piece.removeprefix(_BOM) if number == 1 and not index else piece
    value, problem = _decode(text.strip(_JUNK).encode())
    nuls = piece.count("\0")
    if nuls and (value is not None or problem is None):
        problem = f"{nuls} NUL bytes"
    elif index and value is not None:
        problem = "a record glued to another one"
    elif _MARKER.fullmatch(raw.rstrip(b"\r")):
        problem = "conflict marker"
    return Line(number, raw, value, problem, glued=index > 0)
