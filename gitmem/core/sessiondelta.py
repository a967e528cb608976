"""What changed between two versions of a session.

Told from lines: a save that only appends costs one comparison of bytes plus the new lines, whatever the length of the file
(performance.md). Lines that differ are parsed, and compared as records, so that another way of writing the same is no change.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.core import jsonl
from gitmem.core.model import Change, File

Record = Mapping[str, Any]
_TYPED = b'"_type"'
_BLANK = b" \t\r\0"


@dataclass(frozen=True, slots=True)
class SessionDelta:
    """A session before and after.

    Attributes:
        path: Its file.
        key: Its key; its file's stem where the metadata has none.
        added: Messages that are new, in order. A line that cannot be read counts as an empty one.
        removed: Messages that are gone, in order.
        edited: How many messages were replaced by another version of themselves, in place.
        before: Messages before.
        after: Messages after.
        archived: `last_consolidated` before and after.
        suffix: Whether what was kept is the end of the old list: how agents compact.
        metadata: Members of the inner metadata object that changed.
        title: The new title, where it changed.
        exists: Whether the file was there before, and is there after.
    """

    path: str
    key: str
    added: tuple[Record, ...]
    removed: tuple[Record, ...]
    edited: int
    before: int
    after: int
    archived: tuple[int, int]
    suffix: bool
    metadata: tuple[str, ...]
    title: str | None
    exists: tuple[bool, bool]

    @property
    def shrank(self) -> bool:
        """Whether the oldest messages were dropped, with or without new ones at the end."""
        return bool(self.removed) and self.suffix and self.exists[1]

    @property
    def newly_archived(self) -> tuple[int, int]:
        """The messages that count as archived now and did not before, in old numbers: start and end, equal for none."""
        old, new = self.archived
        dropped = len(self.removed) if self.shrank else 0
        return old, max(old, dropped + new)


@dataclass(frozen=True, slots=True)
class _Half:
    """One version of a session: its metadata, and how many messages it has."""

    metadata: Record
    count: int

    @property
    def archived(self) -> int:
        value = self.metadata.get("last_consolidated", 0)
        valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= self.count
        return value if valid else 0

    @property
    def inner(self) -> Record:
        inner = self.metadata.get("metadata")
        return inner if isinstance(inner, dict) else {}


@dataclass(frozen=True, slots=True)
class _Moves:
    """Messages that came and went; `suffix` as in `SessionDelta`."""

    added: tuple[Record, ...]
    removed: tuple[Record, ...]
    edited: int
    suffix: bool


_Compared = tuple[_Half, _Half, _Moves]


def session_delta(change: Change) -> SessionDelta:
    """Compare two versions of a session; either may be absent."""
    before, after = _data(change.old), _data(change.new)
    old, new, moves = _by_bytes(before, after) or _by_lines(before, after)
    key = new.metadata.get("key") or old.metadata.get("key")
    stem = change.path.rpartition("/")[2].removesuffix(".jsonl")
    names = _differing(old.inner, new.inner) or _differing(
        old.metadata, new.metadata, besides=("metadata", "updated_at", "last_consolidated")
    )
    title = new.inner.get("title")
    return SessionDelta(
        path=change.path,
        key=key if isinstance(key, str) and key else stem,
        added=moves.added,
        removed=moves.removed,
        edited=moves.edited,
        before=old.count,
        after=new.count,
        archived=(old.archived, new.archived),
        suffix=moves.suffix,
        metadata=names,
        title=title if "title" in names and isinstance(title, str) and title else None,
        exists=(change.old is not None, change.new is not None),
    )


def _data(file: File | None) -> bytes:
    return b"" if file is None else file.data


def _differing(old: Record, new: Record, besides: Iterable[str] = ()) -> tuple[str, ...]:
    names = (old.keys() | new.keys()).difference(besides)
    return tuple(sorted(name for name in names if old.get(name) != new.get(name)))


def _by_bytes(old: bytes, new: bytes) -> _Compared | None:
    """The usual saves, told without looking at the messages that stay: some dropped at the start, some added at the end.

    Returns:
        None for any other change, and for files that are not one line of metadata and plain lines of messages.
    """
    (old_head, _, old_body), (new_head, _, new_body) = old.partition(b"\n"), new.partition(b"\n")
    start = _start_of_kept(old_body, new_body)
    if start is None or not _is_plain(kept := old_body[start:]):
        return None
    dropped, added = _lines(old_body[:start]), _lines(new_body[len(kept) :])
    before, after = (_metadata_of(head) for head in (old_head, new_head))
    if before is None or after is None or any(_TYPED in raw for raw in (*dropped, *added)):
        return None
    staying = kept.count(b"\n")
    return (
        _Half(before, len(dropped) + staying),
        _Half(after, staying + len(added)),
        _Moves(_records(added), _records(dropped), 0, suffix=True),
    )


def _start_of_kept(old: bytes, new: bytes) -> int | None:
    """Where in the old messages those begin that the new ones begin with."""
    if new.startswith(old):
        return 0
    first = new[: new.find(b"\n") + 1]
    start = old.find(b"\n" + first) + 1 if first else 0
    return start if start and new.startswith(old[start:]) else None


def _is_plain(lines: bytes) -> bool:
    """Whether these are whole lines with a message on each; blank ones are taken for messages here."""
    return lines.startswith(b"{") and lines.endswith(b"\n") and b"\0" not in lines and _TYPED not in lines


def _metadata_of(line: bytes) -> Record | None:
    record = jsonl.decode(line)
    return record if record is not None and record.get("_type") == "metadata" else None


def _by_lines(old: bytes, new: bytes) -> _Compared:
    """Any change, told from all the lines that differ."""
    (before, old_lines), (after, new_lines) = _read(old), _read(new)
    return before, after, _compare(old_lines, new_lines)


def _read(data: bytes) -> tuple[_Half, tuple[bytes, ...]]:
    metadata: dict[str, Any] = {}
    lines: list[bytes] = []
    for raw in _lines(data):
        value = jsonl.decode(raw) if _TYPED in raw else None
        kind = value.get("_type") if value is not None else None
        if kind == "metadata" and value is not None:
            metadata |= value
        elif kind is None:
            lines.append(raw)
    return _Half(metadata, len(lines)), tuple(lines)


def _lines(data: bytes) -> list[bytes]:
    return [raw for raw in data.split(b"\n") if raw.strip(_BLANK)]


def _compare(old: Sequence[bytes], new: Sequence[bytes]) -> _Moves:
    """What came and went between two lists of message lines."""
    dropped = len(old) - len(new)
    if dropped > 0 and old[dropped:] == new:
        return _Moves((), _records(old[:dropped]), 0, suffix=True)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    gone, came = old[head : len(old) - tail], new[head : len(new) - tail]
    if not gone:
        return _Moves(_records(came), (), 0, suffix=True)
    before, after = [_identity(raw) for raw in gone], [_identity(raw) for raw in came]
    lost, found = Counter(before), Counter(after)
    lost, found = lost - found, found - lost
    gone_at = _places(before, lost)
    came_at = sorted(len(after) - 1 - place for place in _places(after[::-1], found))
    edited = _edited(gone, came, gone_at, came_at) if len(gone_at) < len(old) else []
    return _Moves(
        added=_records(came[place] for place in came_at if place not in edited),
        removed=_records(gone[place] for place in gone_at if place not in edited),
        edited=len(edited),
        suffix=not gone_at or (head == 0 and gone_at[-1] == len(gone_at) - 1),
    )


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many items the two have in common at their start."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(place for place in range(shorter) if one[place] != other[place])


def _identity(raw: bytes) -> bytes:
    record = jsonl.decode(raw)
    return raw if record is None else jsonl.canonical(record)


def _places(names: Sequence[bytes], wanted: Counter[bytes]) -> list[int]:
    """Where the wanted names stand, the first of equal ones."""
    left = Counter(wanted)
    places = []
    for place, name in enumerate(names):
        if left[name] > 0:
            left[name] -= 1
            places.append(place)
    return places


def _edited(
    gone: Sequence[bytes], came: Sequence[bytes], gone_at: Sequence[int], came_at: Sequence[int]
) -> set[int]:
    """Places where a message gave way to another version of itself; none when messages moved, for then places tell nothing."""
    differing = set(gone_at) & set(came_at)
    length = min(len(gone), len(came))
    moved = any(
        place not in differing and _identity(gone[place]) != _identity(came[place]) for place in range(length)
    )
    return set() if moved else {place for place in differing if _same_speaker(gone[place], came[place])}


def _same_speaker(one: bytes, other: bytes) -> bool:
    old, new = jsonl.decode(one), jsonl.decode(other)
    if old is None or new is None:
        return False
    return all(old.get(name) == new.get(name) for name in ("role", "tool_call_id"))


def _records(lines: Iterable[bytes]) -> tuple[Record, ...]:
    return tuple(jsonl.decode(raw) or {} for raw in lines)
