"""Three versions of the history queue become one: history.jsonl, .cursor and .dream_cursor together (merge.md, section 2.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from gitmem.core import history, jsonl
from gitmem.core.conversation import Message
from gitmem.core.merge import members
from gitmem.core.merge.numbers import renumbered
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.records import Reader
from gitmem.core.merge.rules import Numbered, numbered, pick_flag, survivors

EntryKey: TypeAlias = Numbered[str]


class Queue(NamedTuple):
    """The three files; None where one does not exist."""

    history: bytes | None = None
    cursor: bytes | None = None
    dream_cursor: bytes | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of the queue.

    Attributes:
        raw: The bytes of its line.
        value: What it says; empty for a line that cannot be read.
        number: Its cursor; None where it has to get a fresh one, and for lines that are no entries: they are kept as they are.
        entry: Whether it is a valid entry.
        processed: Whether Dream has taken it; of a line that is no entry, whether it has taken the entry before.
    """

    raw: bytes
    value: Message
    number: int | None
    entry: bool
    processed: bool


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the queue.

    Attributes:
        items: All lines by identity (timestamp, text and session of an entry, but not its number), in order.
        top: The greatest number ever given.
        dreamed: The last number that Dream has taken.
    """

    items: Mapping[EntryKey, Item]
    top: int
    dreamed: int


def read(queue: Queue, last_good: Queue, reader: Reader) -> Version:
    """Cut up a queue. A cursor that cannot be read is one being written: its last good value counts (merge.md, section 0)."""
    data = queue.history or b""
    dreamed = _cursor(queue.dream_cursor, last_good.dream_cursor)
    items: list[Item] = []
    for record in reader.records(jsonl.parse(data).lines):
        number = entry_number(record.value)
        before = items[-1].processed if items else True
        processed = number <= dreamed if number is not None else before
        items.append(Item(record.raw, record.value, number, number is not None, processed))
    top = max(history.parse(data).greatest_cursor, _cursor(queue.cursor, last_good.cursor))
    keys = numbered(entry_identity(item.value) or f"line:{item.raw.decode('latin-1')}" for item in items)
    return Version(dict(zip(keys, items, strict=True)), top, dreamed)


def _cursor(data: bytes | None, last_good: bytes | None) -> int:
    number = history.parse_cursor(data)
    if number is None and data is not None:
        number = history.parse_cursor(last_good)
    return number or 0


def entry_number(value: Message) -> int | None:
    """The cursor of a valid entry; None for anything else (memory-format, section 3)."""
    number = value.get("cursor")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return None
    texts = isinstance(value.get("timestamp"), str) and isinstance(value.get("content"), str)
    return number if texts and isinstance(value.get("session_key"), str | None) else None


def entry_identity(value: Message) -> str | None:
    """What makes an entry the same on every machine: all but its number and unknown fields; None for what is no valid entry."""
    if entry_number(value) is None:
        return None
    return jsonl.identity([value.get(name) for name in ("timestamp", "content", "session_key")])


def merge_queue(base: Queue, ours: Queue, theirs: Queue) -> Queue:
    """Merge a queue that both sides changed.

    Returns:
        Entries by R1; each is processed or not as R2 says, and the cursors say exactly that. Numbers rise strictly, and none is
        used twice.
    """
    reader = Reader()
    before, mine, other = (read(queue, base, reader) for queue in (base, ours, theirs))
    merged = {
        key: _merged(key, before, mine, other) for key in survivors(before.items, mine.items, other.items)
    }
    versions = (list(before.items), list(mine.items), list(other.items))

    def rank(key: EntryKey) -> tuple[str, EntryKey]:
        return str(merged[key].value.get("timestamp", "")), key

    def part(*, processed: bool) -> list[EntryKey]:
        return merge_order({key for key in merged if merged[key].processed == processed}, versions, rank)

    done, waiting = part(processed=True), part(processed=False)
    known = {key: item.number for key, item in merged.items() if item.entry}
    top = max(mine.top, other.top)
    numbers = renumbered(
        [k for k in done if k in known], [k for k in waiting if k in known], known, top, rank
    )
    lines = [with_number(merged[key].raw, numbers.get(key)) for key in _placed(numbers, chain(done, waiting))]
    reached = max([mine.dreamed, other.dreamed, *(numbers[key] for key in done if key in numbers)])
    first = min((numbers[key] for key in waiting if key in numbers), default=reached + 1)
    return _files((base, ours, theirs), lines, max([top, *numbers.values()]), min(reached, first - 1))


def _merged(key: EntryKey, base: Version, ours: Version, theirs: Version) -> Item:
    if key not in ours.items or key not in theirs.items:
        lone = ours.items[key] if key in ours.items else theirs.items[key]
        return lone if lone.processed else replace(lone, number=None)
    before, mine, other = base.items.get(key), ours.items[key], theirs.items[key]
    processed = pick_flag(before is not None and before.processed, mine.processed, other.processed)
    number = mine.number if mine.number == other.number else None
    return replace(mine, raw=_text(before, mine, other), number=number, processed=processed)


def _text(base: Item | None, ours: Item, theirs: Item) -> bytes:
    """The fields of both sides; their cursors may differ, and the right one is put in afterwards."""
    if ours.raw == theirs.raw or not ours.entry:
        return ours.raw
    one, other = sorted((ours.raw, theirs.raw))
    before = members.read(base.raw) if base else {}
    fields = members.merge(before, members.read(one), members.read(other), tie=members.smaller)
    return members.write(one, fields.values())


def with_number(raw: bytes, number: int | None) -> bytes:
    """The line of an entry with another number; None leaves it as it is."""
    fields = members.read(raw) if number is not None else {}
    text = str(number).encode()
    if number is None or fields["cursor"].value == text:
        return raw
    return members.write(raw, {**fields, "cursor": replace(fields["cursor"], text=text)}.values())


def _placed(numbers: Mapping[EntryKey, int], order: Iterable[EntryKey]) -> Iterator[EntryKey]:
    """All lines: entries by number, and each other line behind the entry that it followed."""
    followers: dict[EntryKey | None, list[EntryKey]] = {}
    entry: EntryKey | None = None
    for key in order:
        if key in numbers:
            entry = key
        else:
            followers.setdefault(entry, []).append(key)
    yield from followers.get(None, ())
    for key in numbers:
        yield key
        yield from followers.get(key, ())


def _files(queues: tuple[Queue, Queue, Queue], lines: Sequence[bytes], top: int, dreamed: int) -> Queue:
    _, ours, theirs = queues
    there = pick_flag(*(queue.history is not None for queue in queues))
    counts = bool(lines) or ours.cursor is not None or theirs.cursor is not None
    dreams = dreamed > 0 or ours.dream_cursor is not None or theirs.dream_cursor is not None
    return Queue(
        b"".join(line + b"\n" for line in lines) if lines or there else None,
        _spelled(top, ours.cursor, theirs.cursor) if counts else None,
        _spelled(dreamed, ours.dream_cursor, theirs.dream_cursor) if dreams else None,
    )


def _spelled(number: int, *known: bytes | None) -> bytes:
    """The content of a cursor file, as a side has it where it says the same."""
    return min(
        (data for data in known if data and history.parse_cursor(data) == number), default=b"%d" % number
    )
