"""Three versions of the history queue become one: history.jsonl, .cursor and .dream_cursor together (merge.md, section 2.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from gitmem.core import history, jsonl
from gitmem.core.conversation import Message
from gitmem.core.merge import members
from gitmem.core.merge.conflict import Conflict, ConflictKind
from gitmem.core.merge.numbers import renumbered
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.records import Reader
from gitmem.core.merge.rules import Numbered, numbered, pick, pick_flag, survivors
from gitmem.core.model import TreePath

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
        written: The cursor in them; None for a line that is no entry.
        value: What it says; empty for a line that cannot be read.
        number: The cursor it may keep; None where it has to get a fresh one.
        processed: Whether Dream has taken it; of a line that is no entry, whether it has taken the entry before.
    """

    raw: bytes
    written: int | None
    value: Message
    number: int | None
    processed: bool

    @property
    def entry(self) -> bool:
        """Whether it is a valid entry; other lines are kept as they are."""
        return self.written is not None


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
    records = reader.records(jsonl.parse(data).lines)
    for record in records:
        number = entry_number(record.value)
        before = items[-1].processed if items else True
        processed = number <= dreamed if number is not None else before
        items.append(Item(record.raw, number, record.value, number, processed))
    top = max(history.parse(data).greatest_cursor, _cursor(queue.cursor, last_good.cursor))
    keys = numbered(record.identity for record in records)
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


def merge_queue(
    path: TreePath, base: Queue, ours: Queue, theirs: Queue
) -> tuple[Queue, tuple[Conflict, ...]]:
    """Merge a queue that both sides changed.

    Returns:
        Entries by R1; each is processed or not as R2 says, and the cursors say exactly that. Numbers rise strictly, and none is
        used twice. A conflict where both sides dreamed of the same entries: no merge can undo one of the two Dreams.
    """
    reader = Reader(entry_identity)
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
    lines = [_line(merged[key], numbers.get(key)) for key in _placed(numbers, chain(done, waiting))]
    reached = max([mine.dreamed, other.dreamed, *(numbers[key] for key in done if key in numbers)])
    first = min((numbers[key] for key in waiting if key in numbers), default=reached + 1)
    queue = Queue(
        _content(lines, *(queue.history is not None for queue in (base, ours, theirs))),
        _counter(max([top, *numbers.values()]), max(numbers.values(), default=0), ours.cursor, theirs.cursor),
        _counter(min(reached, first - 1), 0, ours.dream_cursor, theirs.dream_cursor),
    )
    return queue, tuple(_dreamed_twice(path, numbers, before, mine, other))


def _dreamed_twice(
    path: TreePath, numbers: Mapping[EntryKey, int], base: Version, ours: Version, theirs: Version
) -> Iterator[Conflict]:
    waited = {key for key, item in base.items.items() if not item.processed}
    both = [
        numbers[key]
        for key in numbers
        if key in waited and ours.items[key].processed and theirs.items[key].processed
    ]
    if both:
        yield Conflict(path, ConflictKind.DREAM, None, tuple(str(number) for number in both))


def _merged(key: EntryKey, base: Version, ours: Version, theirs: Version) -> Item:
    if key not in ours.items or key not in theirs.items:
        lone = ours.items[key] if key in ours.items else theirs.items[key]
        return lone if lone.processed else replace(lone, number=None)
    before, mine, other = base.items.get(key), ours.items[key], theirs.items[key]
    processed = pick_flag(before is not None and before.processed, mine.processed, other.processed)
    number = mine.number if mine.number == other.number else None
    raw, written = _text(before, mine, other)
    return Item(raw, written, mine.value, number, processed)


def _text(base: Item | None, ours: Item, theirs: Item) -> tuple[bytes, int | None]:
    """The fields of both sides, and the cursor among them, which may be of any side."""
    if ours.raw == theirs.raw or not ours.entry:
        return pick(base.raw if base else None, ours.raw, theirs.raw, min), ours.written
    one, other = sorted((ours.raw, theirs.raw))
    before = members.read(base.raw) if base else {}
    fields = members.merge(before, members.read(one), members.read(other), tie=members.smaller)
    return members.write(one, fields.values()), int(fields["cursor"].text)


def _line(item: Item, number: int | None) -> bytes:
    """The line of an item, with its number if it has one."""
    if number is None or item.written == number:
        return item.raw
    fields = members.read(item.raw)
    fields["cursor"] = replace(fields["cursor"], text=str(number).encode())
    return members.write(item.raw, fields.values())


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


def _content(lines: Sequence[bytes], base: bool, ours: bool, theirs: bool) -> bytes | None:  # noqa: FBT001  (was it there?)
    """The history file; an empty one where both sides have one, or one side made it."""
    return b"".join(line + b"\n" for line in lines) if lines or pick_flag(base, ours, theirs) else None


def _counter(number: int, told: int, *known: bytes | None) -> bytes | None:
    """The content of a cursor file, as a side has it where it says the same.

    Args:
        number: What it has to say.
        told: What a missing file says.
        known: The file of each side.
    """
    if number == told and known == (None, None):
        return None
    return min(
        (data for data in known if data and history.parse_cursor(data) == number), default=b"%d" % number
    )
