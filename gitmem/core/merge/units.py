"""Three sequences of units become one: what `theirs` changed in `base` is done to `ours`, or refused.

Units are lines or records, compared whole. Unlike a textual merge, changes next to each other do not conflict: only a unit that
both sides changed does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Clash:
    """A place that both sides changed: the units of the base there, and what each side made of them."""

    base: tuple[bytes, ...]
    ours: tuple[bytes, ...]
    theirs: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """`base[start:end]` was replaced by `new`."""

    start: int
    end: int
    new: tuple[bytes, ...]


def edits(base: Sequence[bytes], side: Sequence[bytes]) -> list[Edit]:
    """The edits that turn `base` into `side`, in order, none touching another."""
    head = _common(base, side)
    tail = _common(base[head:][::-1], side[head:][::-1])
    middle = base[head : len(base) - tail], side[head : len(side) - tail]
    matcher = SequenceMatcher(None, *middle, autojunk=False)
    return [
        Edit(head + start, head + end, tuple(middle[1][first:last]))
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def apply(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> tuple[list[bytes], list[Clash]]:
    """Do to `ours` what was done from `base` to `theirs`.

    Returns:
        The units, and the places that could not be decided (there `ours` stands).
    """
    mine, clashes = edits(base, ours), []
    wanted: list[Edit] = []
    for edit in edits(base, theirs):
        met = [other for other in mine if _meets(edit, other)]
        if all(_same_wish(edit, other) for other in met):
            wanted += list(_beyond(edit, met))
        else:
            start, end = min(e.start for e in (edit, *met)), max(e.end for e in (edit, *met))
            clashes.append(Clash(tuple(base[start:end]), tuple(_text(met)), edit.new))
    return _build(base, mine, wanted), clashes


def _meets(edit: Edit, other: Edit) -> bool:
    """Whether both edits touch a same unit of the base. Insertions touch none."""
    return max(edit.start, other.start) < min(edit.end, other.end)


def _same_wish(edit: Edit, other: Edit) -> bool:
    """Whether both only remove what they share, or make the same of it."""
    return (not edit.new and not other.new) or edit == other


def _beyond(edit: Edit, met: Sequence[Edit]) -> Iterator[Edit]:
    """What is left to do of an edit where the other side has done a part of it already."""
    if any(other == edit for other in met):
        return
    at = edit.start
    for other in met:
        if other.start > at:
            yield Edit(at, other.start, ())
        at = max(at, other.end)
    if at < edit.end or not met:
        yield Edit(at, edit.end, edit.new)


def _text(met: Sequence[Edit]) -> Iterator[bytes]:
    for other in met:
        yield from other.new


def _build(base: Sequence[bytes], mine: Sequence[Edit], wanted: Sequence[Edit]) -> list[bytes]:
    """Apply both lists of edits. At the same place what returns stands before what came later."""
    built: list[bytes] = []
    at = 0
    both = [(edit, 1) for edit in wanted] + [(edit, 2) for edit in mine]
    for edit, _ in sorted(both, key=lambda item: (item[0].start, item[0].end > item[0].start, item[1])):
        built += base[at : edit.start]
        built += edit.new
        at = max(at, edit.end)
    return built + list(base[at:])
