"""Three versions of any sequence side by side, and the clean merge of text by its lines (merge.md, sections 2.3 and 2.5)."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitmem.core import linediff
from gitmem.core.merge.rules import pick_flag
from gitmem.core.newlines import restored, unified

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Stretch(Generic[T]):
    """A part of all three versions: equal in all of them (`same`), or everything between two such parts."""

    base: Sequence[T]
    ours: Sequence[T]
    theirs: Sequence[T]
    same: bool = False

    @property
    def clean(self) -> Sequence[T] | None:
        """What the stretch becomes where only one side changed it, or both alike; else None."""
        if self.ours == self.theirs or self.theirs == self.base:
            return self.ours
        return self.theirs if self.ours == self.base else None


def stretches(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> Iterator[Stretch[T]]:
    """Cut three versions at what all have in common; each side is compared with the base alone, so this is symmetric."""
    in_ours, in_theirs = _places(base, ours), _places(base, theirs)
    common = [place for place in range(len(base)) if place in in_ours and place in in_theirs]
    at = at_ours = at_theirs = 0
    for place in (*common, len(base)):
        end_ours = in_ours.get(place, len(ours))
        end_theirs = in_theirs.get(place, len(theirs))
        if (at, at_ours, at_theirs) != (place, end_ours, end_theirs):
            yield Stretch(base[at:place], ours[at_ours:end_ours], theirs[at_theirs:end_theirs])
        if place < len(base):
            same = base[place : place + 1]
            yield Stretch(same, same, same, same=True)
        at, at_ours, at_theirs = place + 1, end_ours + 1, end_theirs + 1


def _places(base: Sequence[T], side: Sequence[T]) -> dict[int, int]:
    """Where each element of the base is in a side."""
    return {
        block.old + step: block.new + step
        for block in linediff.blocks(base, side)
        for step in range(block.size)
    }


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The text with the changes of both sides; None where they touch the same or neighbouring lines.

    Whether lines end with CRLF is merged apart from what they say.
    """
    (old, old_crlf), (mine, crlf), (other, other_crlf) = unified(base), unified(ours), unified(theirs)
    merged: list[bytes] = []
    for stretch in stretches(old.split(b"\n"), mine.split(b"\n"), other.split(b"\n")):
        if stretch.clean is None:
            return None
        merged += stretch.clean
    return restored(b"\n".join(merged), crlf=pick_flag(old_crlf, crlf, other_crlf))
