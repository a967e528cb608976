"""Lines of JSON Lines files as things to merge: equal when they say the same, whatever their spelling or place."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gitmem.core import jsonl
from gitmem.core.conversation import Message
from gitmem.core.merge.conflict import digest
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.rules import numbered, pick, survivors


@dataclass(frozen=True, slots=True)
class Record:
    """One line.

    Attributes:
        identity: The same for equal values; of a line that cannot be read, for equal bytes.
        raw: Its bytes without LF.
        value: The object on it; empty where it cannot be read.
        readable: Whether there is an object on it.
    """

    identity: str
    raw: bytes = field(compare=False)
    value: Message = field(compare=False)
    readable: bool = True


class Reader:
    """Makes records of lines; lines that several versions share are looked at once.

    Args:
        identity: What makes two values the same thing; None for values to which that does not apply: they are what they say.
    """

    def __init__(self, identity: Callable[[Message], str | None] = lambda _: None) -> None:
        self._identity = identity
        self._known: dict[bytes, Record] = {}

    def record(self, line: jsonl.Line) -> Record:
        """The record on a line."""
        raw = line.raw if line.value is None else line.record
        known = self._known.get(raw)
        if known is None:
            known = self._known[raw] = self._read(raw, line.value)
        return known

    def records(self, lines: Iterable[jsonl.Line]) -> list[Record]:
        """The records of a file; blank lines and conflict markers are none (case B74)."""
        return [self.record(line) for line in lines if not line.blank and not line.marker]

    def _read(self, raw: bytes, value: Message | None) -> Record:
        if value is None:
            return Record(f"bytes:{digest(raw)}", raw, {}, readable=False)
        return Record(self._identity(value) or jsonl.identity(value), raw, value)


def made(value: Message) -> Record:
    """A record that no file holds yet."""
    return Record(jsonl.identity(value), jsonl.dump(value), value)


def pick_record(
    base: Record | None, ours: Record, theirs: Record, tie: Callable[[Record, Record], Record]
) -> Record:
    """The record of the side that changed it."""
    return pick_spelling(base, ours, theirs) if ours == theirs else pick(base, ours, theirs, tie)


def pick_spelling(base: Record | None, ours: Record, theirs: Record) -> Record:
    """Of two equal records, the one of the side that changed how it is written."""
    raw = pick(base.raw if base else None, ours.raw, theirs.raw, min)
    return ours if ours.raw == raw else theirs


def joined(records: Iterable[Record]) -> bytes:
    """A file of these records."""
    return b"".join(record.raw + b"\n" for record in records)


def merge_items(base: Sequence[Record], ours: Sequence[Record], theirs: Sequence[Record]) -> list[Record]:
    """Records kept or dropped whole (R1), in the order of both sides."""
    before, mine, other = (dict(zip(numbered(side), side, strict=True)) for side in (base, ours, theirs))
    keep = survivors(before, mine, other)
    order = merge_order(
        keep, (list(before), list(mine), list(other)), rank=lambda key: (key[0].identity, key[1])
    )
    both = {key: pick_spelling(before.get(key), mine[key], other[key]) for key in mine.keys() & other.keys()}
    return [both.get(key, key[0]) for key in order]


def merge_records(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """A JSON Lines file of an unknown kind: lines are items, kept or dropped whole (merge.md, section 2.5)."""
    versions = (numbered(_lines(base)), numbered(_lines(ours)), numbered(_lines(theirs)))
    order = merge_order(survivors(*versions), versions, rank=lambda line: line)
    return b"".join(line + b"\n" for line, _ in order)


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]
