"""A Markdown file as a list of units: what a person would call one fact, heading or block (merge.md, section 2.3).

Works on bytes and splits at LF only, so that any bytes at all come back exactly (cases B18, B74): a CR or U+2028 is part of its
line, and what is no Markdown is one long paragraph.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from gitmem.core.newlines import restored, unified

_BOM = b"\xef\xbb\xbf"
_HEADING = re.compile(rb"#{1,6}(?:\s|\Z)")
_ITEM = re.compile(rb"(\s*)(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)")
_FENCE = re.compile(rb"\s*(`{3,}|~{3,})([^\n]*)\Z")


class UnitKind(IntEnum):
    """What a unit is. The order is that in which equal-ranking units are sorted."""

    FRONT = 0
    """The YAML block at the start, with both its `---` lines."""
    HEADING = 1
    FENCE = 2
    """A fenced block, opening and closing line included."""
    ITEM = 3
    """A list item with its indented continuation lines; an item below it is a unit of its own."""
    PARAGRAPH = 4
    """Anything else up to the next blank line."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit.

    Attributes:
        kind: What it is.
        text: Its lines joined by LF, without the last LF.
        gap: The blank lines before it, as they stand in the file.
    """

    kind: UnitKind
    text: bytes
    gap: bytes = b""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file.

    Attributes:
        units: All units in order.
        tail: The blank lines at the end.
        ended: Whether the last line has its LF.
        crlf: Whether every line ends with CRLF; the texts of the units have LF.
        bom: Whether the file starts with a byte order mark.
    """

    units: tuple[Unit, ...] = ()
    tail: bytes = b""
    ended: bool = True
    crlf: bool = False
    bom: bool = False


def parse(data: bytes) -> Document:
    """Read a file; any bytes give a document, in time linear in their number."""
    bom = data.startswith(_BOM)
    text, crlf = unified(data.removeprefix(_BOM))
    ended = text.endswith(b"\n") or not text
    lines = text.split(b"\n")
    if ended:
        lines.pop()
    units = list(_units(lines))
    taken = sum(unit.gap.count(b"\n") + unit.text.count(b"\n") + 1 for unit in units)
    tail = b"\n".join(lines[taken:]) + (b"\n" if ended and taken < len(lines) else b"")
    return Document(tuple(units), tail, ended, crlf, bom)


def render(document: Document) -> bytes:
    """The exact bytes that `parse` would read the document from."""
    body = b"".join(unit.gap + unit.text + b"\n" for unit in document.units)
    if not document.ended and not document.tail:
        body = body.removesuffix(b"\n")
    text = restored(body + document.tail, crlf=document.crlf)
    return _BOM + text if document.bom else text


def facts(data: bytes) -> tuple[str, ...]:
    """The facts that a file states: its list items and paragraphs as text, without list marks and outer white space."""
    stated = (unit for unit in parse(data).units if unit.kind in (UnitKind.ITEM, UnitKind.PARAGRAPH))
    return tuple(_fact(unit) for unit in stated)


def _fact(unit: Unit) -> str:
    mark = _ITEM.match(unit.text) if unit.kind is UnitKind.ITEM else None
    return unit.text[mark.end() if mark else 0 :].decode("utf-8", "replace").strip()


def _units(lines: Sequence[bytes]) -> Iterator[Unit]:
    closings = _Closings(lines)
    at = blank = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        kind, end = _extent(lines, at, closings)
        gap = b"".join(line + b"\n" for line in lines[blank:at])
        yield Unit(kind, b"\n".join(lines[at:end]), gap)
        at = blank = end


def _extent(lines: Sequence[bytes], at: int, closings: "_Closings") -> tuple[UnitKind, int]:
    """The kind of the unit that starts at a line that is not blank, and the line behind it."""
    line = lines[at]
    if at == 0 and (end := _front_end(lines)):
        return UnitKind.FRONT, end
    if end := closings.end_of_block(at):
        return UnitKind.FENCE, end
    if _HEADING.match(line):
        return UnitKind.HEADING, at + 1
    item = _ITEM.match(line)
    depth = len(item[1]) if item else -1
    end = at + 1
    while end < len(lines) and _continues(lines[end], depth) and not closings.end_of_block(end):
        end += 1
    return (UnitKind.ITEM if item else UnitKind.PARAGRAPH), end


def _continues(line: bytes, depth: int) -> bool:
    """Whether a line belongs to the item or paragraph before it, whose mark is indented by `depth`."""
    text = line.lstrip()
    if not text or _HEADING.match(line) or _ITEM.match(line):
        return False
    return len(line) - len(text) > depth


def _front_end(lines: Sequence[bytes]) -> int | None:
    if lines[0].rstrip() != b"---":
        return None
    return next((end for end, line in enumerate(lines[1:], 2) if line.rstrip() in (b"---", b"...")), None)


class _Closings:
    """Finds the end of fenced blocks; a fence that is never closed is ordinary text."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._hopeless: dict[bytes, int] = {}
        """By mark: the length from which on no closing line follows any more."""

    def end_of_block(self, at: int) -> int | None:
        """The line behind the fenced block that starts at `at`; None where none does."""
        opening = _FENCE.match(self._lines[at])
        if opening is None:
            return None
        mark, length = opening[1][:1], len(opening[1])
        if (mark == b"`" and mark in opening[2]) or length >= self._hopeless.get(mark, length + 1):
            return None
        for end in range(at + 1, len(self._lines)):
            closing = _FENCE.match(self._lines[end])
            if closing and closing[1][:1] == mark and len(closing[1]) >= length and not closing[2].strip():
                return end + 1
        self._hopeless[mark] = length
        return None
