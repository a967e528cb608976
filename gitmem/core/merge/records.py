"""Lines of JSON Lines files as things to merge: equal when they say the same, whatever their spelling or place."""

from collections.abc import Callable, Iterable
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
    """Makes records of lines; lines that several versions share are looked at once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Record] = {}

    def record(self, line: jsonl.Line) -> Record:
        """The record on a line."""
        raw = line.raw if line.value is None else line.record
        known = self._known.get(raw)
        if known is None:
            known = self._known[raw] = _record(raw, line.value)
        return known

    def records(self, lines: Iterable[jsonl.Line]) -> list[Record]:
        """The records of a file; blank lines and conflict markers are none (case B74)."""
        return [self.record(line) for line in lines if not line.blank and not line.marker]


def _record(raw: bytes, value: Message | None) -> Record:
    if value is None:
        return Record(f"bytes:{digest(raw)}", raw, {}, readable=False)
    return Record(jsonl.identity(value), raw, value)


def made(value: Message) -> Record:
    """A record that no file holds yet."""
    return _record(jsonl.dump(value), value)


def pick_record(
    base: Record | None, ours: Record, theirs: Record, tie: Callable[[Record, Record], Record]
) -> Record:
    """The record of the side that changed it. Equal ones keep the spelling of the side that changed that."""
    if ours == theirs:
        raw = pick(base.raw if base else None, ours.raw, theirs.raw, min)
        return ours if ours.raw == raw else theirs
    return pick(base, ours, theirs, tie)


def joined(records: Iterable[Record]) -> bytes:
    """A file of these records."""
    return b"".join(record.raw + b"\n" for record in records)


def merge_records(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """A JSON Lines file of an unknown kind: lines are items, kept or dropped whole (merge.md, section 2.5)."""
    versions = (numbered(_lines(base)), numbered(_lines(ours)), numbered(_lines(theirs)))
    order = merge_order(survivors(*versions), versions, rank=lambda line: line)
    return b"".join(line + b"\n" for line, _ in order)


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]
