"""What changed between two versions of a session or of the history, told from their lines.

Only lines that differ are parsed, so a save of a long session costs about what was added (performance.md).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitmem.core import history, jsonl
from gitmem.core.model import Change

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SessionDelta:
    """A session before and after.

    Attributes:
        key: Its key; its file's stem where the metadata has none.
        added: Messages that are new.
        removed: Messages that are gone.
        before: Messages before.
        after: Messages after.
        archived: `last_consolidated` before and after.
        metadata: Members of the inner metadata that changed.
    """

    key: str
    added: tuple[Record, ...]
    removed: tuple[Record, ...]
    before: int
    after: int
    archived: tuple[int, int]
    metadata: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryDelta:
    """The history queue before and after: entries that are new, and cursors of those that are gone."""

    added: tuple[history.Entry, ...]
    dropped: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Half:
    """One version of a session: its metadata record and its other lines."""

    metadata: Record
    lines: Counter[bytes]

    @property
    def count(self) -> int:
        return self.lines.total()

    @property
    def archived(self) -> int:
        value = self.metadata.get("last_consolidated", 0)
        valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= self.count
        return value if valid else 0

    @property
    def inner(self) -> Record:
        inner = self.metadata.get("metadata")
        return inner if isinstance(inner, dict) else {}


def session_delta(change: Change) -> SessionDelta:
    """Compare two versions of a session; either may be absent."""
    old, new = _half(change.old.data if change.old else b""), _half(change.new.data if change.new else b"")
    key = new.metadata.get("key") or old.metadata.get("key")
    stem = change.path.rpartition("/")[2].removesuffix(".jsonl")
    names = sorted(
        name for name in old.inner.keys() | new.inner.keys() if old.inner.get(name) != new.inner.get(name)
    )
    return SessionDelta(
        key=key if isinstance(key, str) and key else stem,
        added=_records(new.lines - old.lines),
        removed=_records(old.lines - new.lines),
        before=old.count,
        after=new.count,
        archived=(old.archived, new.archived),
        metadata=tuple(names),
    )


def _half(data: bytes) -> _Half:
    metadata: Record = {}
    lines: list[bytes] = []
    for raw in data.split(b"\n"):
        if not raw.strip(b" \t\r\0"):
            continue
        value = jsonl.decode(raw) if b'"_type"' in raw else None
        if value is not None and value.get("_type") == "metadata":
            metadata = value
        elif value is None or "role" in value or "_type" not in value:
            lines.append(raw)
    return _Half(metadata, Counter(lines))


def _records(lines: Counter[bytes]) -> tuple[Record, ...]:
    return tuple(jsonl.decode(raw) or {} for raw in lines.elements())


def history_delta(change: Change) -> HistoryDelta:
    """Compare two versions of the history; entries are told by their bytes."""
    old = _entry_lines(change.old.data if change.old else b"")
    new = _entry_lines(change.new.data if change.new else b"")
    added = history.parse(b"".join(raw + b"\n" for raw in (new - old).elements()))
    dropped = history.parse(b"".join(raw + b"\n" for raw in (old - new).elements()))
    return HistoryDelta(tuple(added.entries), tuple(sorted(entry.cursor for entry in dropped.entries)))


def _entry_lines(data: bytes) -> Counter[bytes]:
    return Counter(raw for raw in data.split(b"\n") if raw.strip(b" \t\r\0"))


def lines_changed(change: Change) -> tuple[int, int]:
    """How many lines came and went, counted without regard to their order."""
    old, new = (
        _all_lines(change.old.data if change.old else b""),
        _all_lines(change.new.data if change.new else b""),
    )
    return (new - old).total(), (old - new).total()


def _all_lines(data: bytes) -> Counter[bytes]:
    lines = data.split(b"\n")
    return Counter(lines[:-1] if lines[-1] == b"" else lines)
