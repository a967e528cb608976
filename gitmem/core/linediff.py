"""Which lines two versions share, and the hunks of what differs, for any two sequences of hashable things.

Common ends are cut off first, so the usual change (something appended, one line replaced) costs one
comparison a line. What remains is matched exactly when it is small, else at lines that occur once on each
side; no input takes quadratic time.
"""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)

_EXACT = 40_000
"""Lines times lines up to which the exact (and in the worst case cubic) matcher is used."""
_ROUNDS = 8
"""How often what lies between anchors is looked at again for more of them."""


@dataclass(frozen=True, slots=True)
class Block:
    """`size` lines from `old` on in the old version equal those from `new` on in the new one."""

    old: int
    new: int
    size: int


@dataclass(frozen=True, slots=True)
class Hunk(Generic[T]):
    """A stretch of changes with its context.

    Attributes:
        old_start: Index of its first line in the old version, from 0.
        new_start: The same in the new version.
        lines: Sign (blank, `-` or `+`) and line.
    """

    old_start: int
    new_start: int
    lines: tuple[tuple[str, T], ...]

    def header(self) -> str:
        """`@@ -1,3 +1,4 @@`, as git counts."""
        old = sum(sign != "+" for sign, _ in self.lines)
        new = sum(sign != "-" for sign, _ in self.lines)
        return f"@@ -{_range(self.old_start, old)} +{_range(self.new_start, new)} @@"


def _range(start: int, count: int) -> str:
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def blocks(old: Sequence[T], new: Sequence[T]) -> list[Block]:
    """The lines both versions share, in order."""
    found: list[Block] = []
    pending = [(0, len(old), 0, len(new), _ROUNDS)]
    while pending:
        low, high, new_low, new_high, rounds = pending.pop()
        head = _equal(old[low:high], new[new_low:new_high])
        found.append(Block(low, new_low, head))
        low, new_low = low + head, new_low + head
        tail = _equal(old[low:high][::-1], new[new_low:new_high][::-1])
        high, new_high = high - tail, new_high - tail
        found.append(Block(high, new_high, tail))
        inner = old[low:high], new[new_low:new_high]
        if len(inner[0]) * len(inner[1]) <= _EXACT:
            matcher = difflib.SequenceMatcher(None, *inner, autojunk=False)
            found += [Block(low + i, new_low + j, size) for i, j, size in matcher.get_matching_blocks()]
        elif rounds and (anchors := _anchors(*inner)):
            starts = [(low, new_low), *((low + i, new_low + j) for i, j in anchors)]
            ends = [*starts[1:], (high, new_high)]
            pending += [(a, c, b, d, rounds - 1) for (a, b), (c, d) in zip(starts, ends, strict=True)]
    return _joined(found)


def _equal(old: Sequence[T], new: Sequence[T]) -> int:
    """How many lines are equal from the start."""
    count = 0
    for line, other in zip(old, new, strict=False):
        if line != other:
            break
        count += 1
    return count


def _anchors(old: Sequence[T], new: Sequence[T]) -> list[tuple[int, int]]:
    """Lines that occur once on each side, as many as keep their order (a longest increasing run)."""
    once, once_new = Counter(old), Counter(new)
    place = {line: index for index, line in enumerate(old) if once[line] == 1}
    pairs = [(place[line], index) for index, line in enumerate(new) if once_new[line] == 1 and line in place]
    tops: list[int] = []
    """The smallest old index that a run of each length can end with."""
    last: list[int] = []
    """The pair that run ends with."""
    before: list[int] = []
    for number, (index, _) in enumerate(pairs):
        length = bisect_left(tops, index)
        before.append(last[length - 1] if length else -1)
        tops[length : length + 1] = [index]
        last[length : length + 1] = [number]
    run: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _joined(found: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for block in sorted((block for block in found if block.size), key=lambda block: block.old):
        last = joined[-1] if joined else None
        if last and last.old + last.size == block.old and last.new + last.size == block.new:
            joined[-1] = Block(last.old, last.new, last.size + block.size)
        else:
            joined.append(block)
    return joined


def counts(old: Sequence[T], new: Sequence[T]) -> tuple[int, int]:
    """How many lines were added and removed."""
    same = sum(block.size for block in blocks(old, new))
    return len(new) - same, len(old) - same


def hunks(old: Sequence[T], new: Sequence[T], context: int = 3) -> Iterator[Hunk[T]]:
    """What differs, with up to `context` equal lines around it; changes that near share a hunk."""
    group: list[_Gap] = []
    for gap in _gaps(old, new):
        if group and gap.old_start - group[-1].old_end > 2 * context:
            yield _hunk(old, new, group, context)
            group = []
        group.append(gap)
    if group:
        yield _hunk(old, new, group, context)


class _Gap(NamedTuple):
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def _gaps(old: Sequence[T], new: Sequence[T]) -> Iterator[_Gap]:
    """What lies between the shared blocks."""
    at = new_at = 0
    for block in [*blocks(old, new), Block(len(old), len(new), 0)]:
        if at < block.old or new_at < block.new:
            yield _Gap(at, block.old, new_at, block.new)
        at, new_at = block.old + block.size, block.new + block.size


def _hunk(old: Sequence[T], new: Sequence[T], group: list[_Gap], context: int) -> Hunk[T]:
    start = max(0, group[0].old_start - context)
    lines: list[tuple[str, T]] = []
    at = start
    for gap in group:
        lines += [(" ", line) for line in old[at : gap.old_start]]
        lines += [("-", line) for line in old[gap.old_start : gap.old_end]]
        lines += [("+", line) for line in new[gap.new_start : gap.new_end]]
        at = gap.old_end
    lines += [(" ", line) for line in old[at : at + context]]
    return Hunk(start, group[0].new_start - (group[0].old_start - start), tuple(lines))
