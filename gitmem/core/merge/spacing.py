"""Blank lines between the units of a merged Markdown file: as a side had them, and so that no two units run into one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitmem.core.markdown import Document, Unit, UnitKind
from gitmem.core.merge.rules import Numbered, numbered, pick


@dataclass(frozen=True, slots=True, order=True)
class Text:
    """A unit without the blank lines before it: what is compared in a merge."""

    kind: UnitKind
    text: bytes


def texts(document: Document) -> list[Text]:
    """The units of a document as texts."""
    return [Text(unit.kind, unit.text) for unit in document.units]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a unit stands in a version: the blank lines before it, and the unit before those."""

    gap: bytes
    before: Text | None


def spaced(
    merged: Sequence[Text], versions: Sequence[Document], like: Mapping[Text, Text]
) -> tuple[Unit, ...]:
    """The merged texts as units.

    Args:
        merged: The texts in their new order.
        versions: Base, ours and theirs.
        like: For a text that no side has, the one of ours that it was made from.
    """
    places = [_places(version) for version in versions]
    units: list[Unit] = []
    before: Text | None = None
    for key in numbered(merged):
        text = key[0]
        known = key if any(key in side for side in places[1:]) else (like.get(text, text), 0)
        units.append(Unit(text.kind, text.text, _gap(text, before, _place(places, known))))
        before = text
    return tuple(units)


def _places(version: Document) -> dict[Numbered[Text], _Place]:
    found = texts(version)
    befores = (None, *found[:-1])
    units = zip(version.units, befores, strict=True) if found else ()
    return dict(zip(numbered(found), (_Place(unit.gap, before) for unit, before in units), strict=True))


def _place(places: Sequence[Mapping[Numbered[Text], _Place]], key: Numbered[Text]) -> _Place | None:
    base, ours, theirs = (side.get(key) for side in places)
    if ours is None or theirs is None:
        return ours or theirs
    return pick(base, ours, theirs, _wider)


def _wider(one: _Place, other: _Place) -> _Place:
    return max(
        one,
        other,
        key=lambda place: (place.gap.count(b"\n"), place.gap, place.before is not None, place.before),
    )


def _gap(text: Text, before: Text | None, place: _Place | None) -> bytes:
    """The blank lines before a unit, which may now stand behind another one than it did."""
    if place is not None and place.before == before:
        return place.gap
    if before is None:
        return b""
    old = place if place is not None and place.before is not None else None
    if before.kind == text.kind == UnitKind.ITEM:
        return (
            old.gap
            if old is not None and old.before is not None and old.before.kind == UnitKind.ITEM
            else b""
        )
    if old is None:
        return b"\n"
    return old.gap or (b"" if _holds(before, text) else b"\n")


def _holds(before: Text, text: Text) -> bool:
    """Whether two units stay two without a blank line between them."""
    return text.kind != UnitKind.PARAGRAPH or before.kind not in (UnitKind.PARAGRAPH, UnitKind.ITEM)
