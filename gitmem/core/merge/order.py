"""Two orders of things become one: what both sides have stays in place, what one side has stands where it put it.

Nothing is compared by position, so nothing is torn apart, lost or doubled (merge.md, section 2.1, order).
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)


def merge_order(
    keep: Collection[K],
    versions: tuple[Sequence[K], Sequence[K], Sequence[K]],
    rank: Callable[[K], Any],
    starts: Callable[[K], bool] = lambda _: True,
) -> list[K]:
    """The kept keys of both sides in one order.

    Args:
        keep: Keys that shall be in the result; each is in one of the sides, in none of them twice.
        versions: All keys of the base, of ours and of theirs, in their order.
        rank: Orders what the two sides added at the same place; different for different keys.
        starts: Whether a key begins a chunk (a turn of a conversation). Chunks are never torn apart.

    Returns:
        Every kept key once. Where both sides agree about the order of common keys, the order of each side is kept.
    """
    base, ours, theirs = (_only(version, keep) for version in versions)
    anchors = _anchors(base, ours, theirs, rank)
    our_runs, their_runs = _runs(ours, set(anchors)), _runs(theirs, set(anchors))
    merged = _weave(our_runs[None], their_runs[None], rank, starts)
    for anchor in anchors:
        merged.append(anchor)
        merged += _weave(our_runs[anchor], their_runs[anchor], rank, starts)
    return merged


def _anchors(base: Sequence[K], ours: Sequence[K], theirs: Sequence[K], rank: Callable[[K], Any]) -> list[K]:
    """The common keys, in the order of the side that changed it."""
    mine, other = _only(ours, set(theirs)), _only(theirs, set(ours))
    if mine == other:
        return mine
    known = set(base)
    before = _only(base, set(mine))
    mine_before, other_before = _only(mine, known), _only(other, known)
    if mine_before != other_before and before in (mine_before, other_before):
        return other if mine_before == before else mine
    return min(mine, other, key=lambda keys: [rank(key) for key in keys])


def _only(keys: Sequence[K], wanted: Collection[K]) -> list[K]:
    return [key for key in keys if key in wanted]


def _runs(keys: Sequence[K], anchors: set[K]) -> dict[K | None, list[K]]:
    """What a side alone has, by the anchor it stands behind; None for the start."""
    runs: dict[K | None, list[K]] = {None: []}
    run = runs[None]
    for key in keys:
        if key in anchors:
            run = runs[key] = []
        else:
            run.append(key)
    return runs


def _weave(ours: list[K], theirs: list[K], rank: Callable[[K], Any], starts: Callable[[K], bool]) -> list[K]:
    """Chunks of both sides by rank, each side's in its own order; what goes on from the anchor comes first."""
    sides = [_chunks(ours, starts), _chunks(theirs, starts)]
    leads = [side.pop(0) for side in sides if side and not starts(side[0][0])]
    woven = [key for lead in sorted(leads, key=lambda chunk: rank(chunk[0])) for key in lead]
    first, second = (iter(side) for side in sides)
    one, other = next(first, None), next(second, None)
    while one is not None and other is not None:
        if rank(one[0]) <= rank(other[0]):
            woven += one
            one = next(first, None)
        else:
            woven += other
            other = next(second, None)
    for chunk in (one, *first, other, *second):
        woven += chunk or []
    return woven


def _chunks(run: list[K], starts: Callable[[K], bool]) -> list[list[K]]:
    chunks: list[list[K]] = []
    for key in run:
        if chunks and not starts(key):
            chunks[-1].append(key)
        else:
            chunks.append([key])
    return chunks
