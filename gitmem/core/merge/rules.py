"""The rules that decide every merge (merge.md, section 2.0). All are symmetric in ours and theirs."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

Numbered: TypeAlias = tuple[H, int]
"""A value, and how many equal ones stand before it in its file: equal things at different places are different things (B25)."""


def pick(base: object, ours: T, theirs: T, tie: Callable[[T, T], T]) -> T:
    """The value of the side that changed it; what `tie`, a symmetric function, says where both did."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    return tie(ours, theirs)


def pick_flag(base: bool, ours: bool, theirs: bool) -> bool:  # noqa: FBT001  (three values of one flag)
    """R2: the flag of the side that changed it. Both can only have changed it to the same."""
    return ours if ours != base else theirs


def survivors(base: Collection[H], ours: Collection[H], theirs: Collection[H]) -> set[H]:
    """R1: what both sides have, or one side has and the base has not."""
    return (set(ours) & set(theirs)) | (set(ours) ^ set(theirs)) - set(base)


def numbered(values: Iterable[H]) -> list[Numbered[H]]:
    """Each value with its number among equal ones."""
    seen: Counter[H] = Counter()
    result = []
    for value in values:
        result.append((value, seen[value]))
        seen[value] += 1
    return result


def pick_count(base: int, ours: int, theirs: int) -> int:
    """R1 for how often something occurs: additions and removals add up, but two sides that add it mean the same one."""
    return pick(base, ours, theirs, lambda a, b: max(0, min(max(a, b), a + b - base)))
