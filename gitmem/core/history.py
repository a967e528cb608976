"""memory/history.jsonl and its cursors: one global queue of archived pieces (memory-format, section 3).

Cursors rise strictly and are never used twice. Lines that cannot be read are skipped, reported, and kept.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gitmem.core import jsonl
from gitmem.core.jsonl import Line

MAX_CONTENT = 64_000
"""Characters of one entry of any kind."""
MAX_SUMMARY = 8_000
"""Characters of a summary made by a model."""
MAX_RAW = 16_000
"""Characters of a piece of raw messages; more of them go into further entries, so that nothing is lost."""

_CURSOR_FILE = re.compile(rb"[0-9]{1,1000}")
_CURSOR_IN_DAMAGE = re.compile(rb'"cursor"\s*:\s*([0-9]{1,18})')


@dataclass(frozen=True, slots=True)
class Entry:
    """One archived piece.

    Attributes:
        cursor: Its number.
        timestamp: When it was written, `YYYY-MM-DD HH:MM`, local time of its writer.
        content: The text.
        session_key: The session it came from, where its writer said so.
        raw: The bytes of its line.
        number: The line number, from 1.
    """

    cursor: int
    timestamp: str
    content: str
    session_key: str | None
    raw: bytes
    number: int


@dataclass(frozen=True, slots=True)
class History:
    """A parsed history file.

    Attributes:
        entries: The valid entries in file order.
        problems: One sentence per line that is none, with its line number.
        greatest_cursor: The greatest cursor that any line holds or may have held, damaged ones included;
            else 0.
        torn: The file ends in the middle of a record.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    greatest_cursor: int
    torn: bool


def parse(data: bytes) -> History:
    """Read a history file; any bytes give a history."""
    file = jsonl.parse(data)
    entries = []
    problems = []
    for line in file.lines:
        entry = _entry(line)
        if entry is not None:
            entries.append(entry)
        problem = line.problem or (None if entry or line.blank else "not a valid history entry")
        if problem:
            problems.append(f"line {line.number}: {problem}")
    greatest = max((_cursor_in(line) for line in file.lines), default=0)
    return History(tuple(entries), tuple(problems), greatest, file.torn)


def parse_cursor(data: bytes | None) -> int | None:
    """The number in a cursor file; None when it is missing, empty or no number.

    A byte order mark, white space and CRLF are tolerated (case B27). An empty file is a writer between
    truncating and writing, so None means "unchanged", not 0 (merge.md, section 0).
    """
    text = (data or b"").removeprefix(b"\xef\xbb\xbf").strip()
    return int(text) if _CURSOR_FILE.fullmatch(text) else None


def next_cursor(data: bytes, cursor_file: bytes | None) -> int:
    """The number for the next entry: past every number in the file and past `.cursor`."""
    return max(parse(data).greatest_cursor, parse_cursor(cursor_file) or 0) + 1


def record(cursor: int, timestamp: str, content: str, session_key: str | None = None) -> bytes:
    """The line of an entry, without its LF. Content past `MAX_CONTENT` is cut: split it before."""
    fields: dict[str, object] = {"cursor": cursor, "timestamp": timestamp, "content": content[:MAX_CONTENT]}
    if session_key is not None:
        fields["session_key"] = session_key
    return jsonl.dump(fields)


def addition(tail: bytes, line: bytes) -> bytes:
    """What to append to a history file for one more line.

    Args:
        tail: The end of the file, at least its last byte; empty when the file is.
        line: The new line without its LF.

    Returns:
        The line with its LF, and one before it where the last writer was killed before writing its own, so
        that two records never fuse.
    """
    return (b"\n" if tail and not tail.endswith(b"\n") else b"") + line + b"\n"


def append(data: bytes, cursor: int, timestamp: str, content: str, session_key: str | None = None) -> bytes:
    """The history file with one more entry; no byte before it changes."""
    return data + addition(data[-1:], record(cursor, timestamp, content, session_key))


def after(history: History, cursor: int) -> tuple[Entry, ...]:
    """The entries with a greater cursor, in file order: what Dream has not seen."""
    return tuple(entry for entry in history.entries if entry.cursor > cursor)


def compact(data: bytes, dream_cursor: int, keep: int) -> bytes:
    """The history file without its oldest entries beyond `keep`; only processed ones may go (case B03).

    Args:
        data: The file.
        dream_cursor: The last cursor that Dream has processed.
        keep: Number of valid entries to keep where possible.

    Returns:
        The other lines byte for byte, unreadable ones included.
    """
    lines = jsonl.parse(data).lines
    entries = [(place, entry) for place, line in enumerate(lines) if (entry := _entry(line)) is not None]
    surplus = entries[: max(0, len(entries) - max(0, keep))]
    dropped = {place for place, entry in surplus if entry.cursor <= dream_cursor}
    if not dropped:
        return data
    return _joined(line for place, line in enumerate(lines) if place not in dropped)


def repaired(data: bytes, cursor_file: bytes | None = None) -> bytes:
    """The history file with strictly rising cursors and without conflict markers (case B74).

    Returns:
        Entries whose number an earlier line has reached move to the end, in order, with fresh numbers:
        what stays keeps its meaning for `.dream_cursor`, and what moves is seen again rather than skipped.
        The same bytes where nothing is wrong.
    """
    fresh = next_cursor(data, cursor_file)
    reached = -1
    kept: list[Line] = []
    moved: list[bytes] = []
    lines = jsonl.parse(data).lines
    for line in lines:
        entry = _entry(line)
        if entry is not None and entry.cursor <= reached:
            fields = {**(line.value or {}), "cursor": fresh + len(moved)}
            moved.append(jsonl.rewrite(line.record, fields))
        elif not line.marker:
            kept.append(line)
            reached = entry.cursor if entry else reached
    if len(kept) == len(lines):
        return data
    return _joined(kept) + b"".join(line + b"\n" for line in moved)


def _joined(lines: Iterable[Line]) -> bytes:
    return b"".join(line.raw + b"\n" for line in lines)


def _entry(line: Line) -> Entry | None:
    value = line.value or {}
    cursor, timestamp, content = value.get("cursor"), value.get("timestamp"), value.get("content")
    key = value.get("session_key")
    if not isinstance(cursor, int) or isinstance(cursor, bool) or cursor < 0:
        return None
    if not isinstance(timestamp, str) or not isinstance(content, str):
        return None
    if not isinstance(key, str | None):
        return None
    return Entry(cursor, timestamp, content, key, line.raw, line.number)


def _cursor_in(line: Line) -> int:
    """The number that a line uses up: also that of an invalid entry (B01) or a torn one (B16)."""
    if line.value is not None:
        cursor = line.value.get("cursor")
        return cursor if isinstance(cursor, int) else 0
    return max((int(digits) for digits in _CURSOR_IN_DAMAGE.findall(line.raw)), default=0)
