"""The numbers of history entries after a merge (merge.md, section 2.2).

A Dream that runs on one machine while a merge is installed there writes the last number of its batch afterwards. So an entry of
the other machine that was not dreamed yet must not get a number that this one may have had in its batch: it gets a fresh one.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)


def renumbered(
    processed: Sequence[K],
    waiting: Sequence[K],
    known: Mapping[K, int | None],
    top: int,
    rank: Callable[[K], Any],
) -> dict[K, int]:
    """A number for each entry, strictly rising in the order of the result.

    Args:
        processed: Entries that Dream has taken, in merged order.
        waiting: The others, in merged order.
        known: The number that an entry has and may keep; None where it must get a fresh one.
        top: The greatest number ever used; fresh ones are greater.
        rank: Decides which of two processed entries keeps a number that both have.

    Returns:
        All entries in the order of the file: processed ones first. An entry gets a fresh number rather than one that would put it
        on the wrong side of `.dream_cursor`.
    """
    fresh = count(top + 1)
    owners: dict[int, K] = {}
    for key in sorted(processed, key=rank):
        number = known[key]
        if number is not None:
            owners.setdefault(number, key)
    numbers = {key: number for number, key in sorted(owners.items())}
    keeping = set(numbers)
    numbers |= {key: next(fresh) for key in processed if key not in keeping}
    stays = _staying(waiting, known, above=max(numbers.values(), default=-1))
    numbers |= dict(sorted(stays.items(), key=lambda item: item[1]))
    return numbers | {key: next(fresh) for key in waiting if key not in stays}


def _staying(waiting: Sequence[K], known: Mapping[K, int | None], above: int) -> dict[K, int]:
    """The waiting entries that keep their number: all that have one, or none if one of them cannot."""
    kept = {key: number for key in waiting if (number := known[key]) is not None}
    unique = all(times == 1 for times in Counter(kept.values()).values())
    return kept if unique and all(number > above for number in kept.values()) else {}
