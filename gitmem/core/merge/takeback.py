"""Taking one change out of a sequence that went on changing: the part of `inverse` that all kinds of files share.

Things are the same when they are equal and stand at the same place between others, or have moved; equal text alone does not
make two things one (case B25).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from gitmem.core import linediff
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.rules import Numbered, numbered

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Clash(Generic[T]):
    """Something that the commit made and a later change made into something else.

    Attributes:
        commit: What the commit made.
        now: What stands there now.
        before: What the commit replaced.
    """

    commit: tuple[T, ...]
    now: tuple[T, ...]
    before: tuple[T, ...]

    def map(self, show: Callable[[T], bytes]) -> "Clash[bytes]":
        """The same, as the bytes that stand in the files."""
        parts = (self.commit, self.now, self.before)
        return Clash(*(tuple(show(item) for item in part) for part in parts))


class CannotUndoError(Exception):
    """A change cannot be taken out cleanly; `inverse` catches it and makes a value of it.

    Args:
        reason: Why, for a person.
        clashes: The texts that stand against each other.
    """

    def __init__(self, reason: str, clashes: Sequence[Clash[bytes]] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.clashes = tuple(clashes)


@dataclass(frozen=True, slots=True)
class Versions(Generic[T]):
    """Three versions of a sequence, in which the same thing has the same key."""

    commit: list[Numbered[T]]
    now: list[Numbered[T]]
    before: list[Numbered[T]]


def align(commit: Sequence[T], now: Sequence[T], before: Sequence[T]) -> Versions[T]:
    """Find out what is the same thing: equal and at the same place between others, or else moved."""
    return Versions(numbered(commit), _aligned(commit, now), _aligned(commit, before))


class Taken(NamedTuple, Generic[T]):
    """The sequence without the change.

    Attributes:
        keys: Its things, in order.
        mended: What stands in place of some of them.
        clashes: What cannot be taken back.
    """

    keys: list[Numbered[T]]
    mended: dict[Numbered[T], T]
    clashes: list[Clash[T]]

    @property
    def items(self) -> list[T]:
        """The sequence itself."""
        return [self.mended.get(key, key[0]) for key in self.keys]


def take_back(versions: Versions[T], mend: Callable[[T, T, T], T | None] = lambda *_: None) -> Taken[T]:
    """What `now` is without that which made `commit` of `before`.

    Args:
        versions: The three versions.
        mend: Where the commit and a later change each replaced one thing by one: takes the commit's, the present and the first
            version, and gives one that has the later change alone, or None.

    Returns:
        What the commit added is gone wherever it is now, what it removed stands where it was, and what came later stays; at the
        same place what returns comes first. A clash for each thing of the commit that was changed since, and for each that was
        replaced by the commit and removed since; what is removed since and was new needs no taking back.
    """
    base, now, old = versions.commit, versions.now, versions.before
    met = _meetings(versions, mend)
    returning = set(old) - set(base) - met.replaced
    keep = (set(now) - (set(base) - set(old))) | returning
    place = {key: number for keys in (old, now) for number, key in enumerate(keys)}
    order = merge_order(keep, (base, now, old), rank=lambda key: (key not in returning, place[key]))
    present = {key: key for keys in (old, now) for key in keys}
    return Taken([present[key] for key in order], met.mended, met.clashes)


class _Meetings(NamedTuple, Generic[T]):
    """Where the commit and later changes touched the same.

    Attributes:
        mended: By what is there now: what it becomes.
        replaced: What does not return, since it is in something mended.
        clashes: What could not be mended.
    """

    mended: dict[Numbered[T], T]
    replaced: set[Numbered[T]]
    clashes: list[Clash[T]]


def _meetings(versions: Versions[T], mend: Callable[[T, T, T], T | None]) -> _Meetings[T]:
    met: _Meetings[T] = _Meetings({}, set(), [])
    remade = {key: edit for edit in _edits(versions.commit, versions.now) for key in edit.gone}
    for edit in _edits(versions.commit, versions.before):
        lost = [key for key in edit.gone if key in remade]
        there = list(dict.fromkeys(key for gone in lost for key in remade[gone].new))
        undone_already = bool(there) and set(there) <= set(edit.new)
        if not lost or undone_already or not (there or edit.new):
            continue
        single = len(edit.gone) == len(edit.new) == len(there) == len(remade[lost[0]].gone) == 1
        text = mend(lost[0][0], there[0][0], edit.new[0][0]) if single else None
        if text is None:
            met.clashes.append(Clash(_values(lost), _values(there), _values(edit.new)))
        else:
            met.mended[there[0]] = text
            met.replaced.add(edit.new[0])
    return met


def _values(keys: Sequence[Numbered[T]]) -> tuple[T, ...]:
    return tuple(key[0] for key in keys)


def _aligned(base: Sequence[T], side: Sequence[T]) -> list[Numbered[T]]:
    """The things of a side, with the numbers that they have among equal ones in the base.

    Equal things are matched where they stand; what is left over of them has moved; what is left then is new, and numbered past
    those of the base.
    """
    names = numbered(base)
    matched = {
        block.new + step: names[block.old + step][1]
        for block in linediff.blocks(base, side)
        for step in range(block.size)
    }
    free: defaultdict[T, list[int]] = defaultdict(list)
    taken = {(side[place], number) for place, number in matched.items()}
    for value, number in reversed(names):
        if (value, number) not in taken:
            free[value].append(number)
    fresh = Counter(base)
    result: list[Numbered[T]] = []
    for place, value in enumerate(side):
        if place in matched:
            result.append((value, matched[place]))
        elif free[value]:
            result.append((value, free[value].pop()))
        else:
            result.append((value, fresh[value]))
            fresh[value] += 1
    return result


class _Edit(NamedTuple, Generic[T]):
    """A place where a side differs from the base: what is nowhere in the side, and what is nowhere in the base."""

    gone: list[Numbered[T]]
    new: list[Numbered[T]]


def _edits(base: Sequence[Numbered[T]], side: Sequence[Numbered[T]]) -> Iterator[_Edit[T]]:
    old, new = set(base), set(side)
    at = at_side = 0
    for block in (*linediff.blocks(base, side), linediff.Block(len(base), len(side), 0)):
        gone = [key for key in base[at : block.old] if key not in new]
        made = [key for key in side[at_side : block.new] if key not in old]
        if gone or made:
            yield _Edit(gone, made)
        at, at_side = block.old + block.size, block.new + block.size
