"""Three versions of a Markdown file become one, unit by unit: no fact is lost, no marker written (merge.md, section 2.3)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitmem.core.markdown import Document, UnitKind, parse, render
from gitmem.core.merge.conflict import Conflict, ConflictKind, conflict
from gitmem.core.merge.lines import Stretch, merge_lines, stretches
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.rules import Numbered, numbered, pick, pick_count, pick_flag, survivors
from gitmem.core.merge.spacing import Text, spaced, texts
from gitmem.core.model import TreePath

_NOTHING = Document(ended=False, crlf=True, bom=True)
"""Stands for a missing base: line endings and marks are then those that both sides have."""


def merge_markdown(
    path: TreePath, base: bytes | None, ours: bytes, theirs: bytes
) -> tuple[bytes, tuple[Conflict, ...]]:
    """Merge a Markdown file that both sides have.

    Returns:
        The file, and the places where both sides changed the same. There both texts stand next to each other; of a heading and
        of the front matter only the larger one.
    """
    versions = (_NOTHING if base is None else parse(base), parse(ours), parse(theirs))
    merge = _Merge(path)
    before, mine, other = (texts(version) for version in versions)
    front = merge.front(
        *(side.pop(0) if side and side[0].kind == UnitKind.FRONT else None for side in (before, mine, other))
    )
    body = [text for stretch in stretches(before, mine, other) for text in merge.stretch(stretch)]
    merged = [*front, *_limited(body, before, mine, other)]
    return render(document_of(merged, *versions, like=merge.like)), tuple(merge.conflicts)


def document_of(
    merged: Sequence[Text],
    base: Document,
    ours: Document,
    theirs: Document,
    like: Mapping[Text, Text] | None = None,
) -> Document:
    """Merged texts as a document, with the blank lines and the line endings that the sides agree on."""
    units = spaced(merged, (base, ours, theirs), like or {})
    document = Document(
        units,
        tail=pick(base.tail, ours.tail, theirs.tail, max),
        ended=pick_flag(base.ended, ours.ended, theirs.ended),
        crlf=pick_flag(base.crlf, ours.crlf, theirs.crlf),
        bom=pick_flag(base.bom, ours.bom, theirs.bom),
    )
    if (
        units
        and units[0].text.startswith(b"---")
        and units[0].kind != UnitKind.FRONT
        and _starts_with_front(document)
    ):
        return replace(document, units=(replace(units[0], gap=b"\n"), *units[1:]))
    return document


def _starts_with_front(document: Document) -> bool:
    """Whether a rule at the start would be taken for front matter, up to another rule below."""
    return parse(render(document)).units[0].kind == UnitKind.FRONT


class _Merge:
    """Merges part by part and notes what it could not decide.

    Attributes:
        conflicts: What was noted.
        like: For a text made of two, ours of them.
    """

    def __init__(self, path: TreePath) -> None:
        self._path = path
        self.conflicts: list[Conflict] = []
        self.like: dict[Text, Text] = {}

    def front(self, base: Text | None, ours: Text | None, theirs: Text | None) -> Sequence[Text]:
        """The front matter: there is one at most, at the start."""
        if ours is not None and theirs is not None and theirs != base != ours:
            return self._edit(base or Text(UnitKind.FRONT, b""), ours, theirs)
        chosen = pick(base, ours, theirs, lambda one, two: one or two)
        return () if chosen is None else (chosen,)

    def stretch(self, stretch: Stretch[Text]) -> Sequence[Text]:
        """The units that a stretch becomes."""
        if stretch.clean is not None:
            return stretch.clean
        if _is_edit(stretch):
            triples = zip(stretch.base, stretch.ours, stretch.theirs, strict=True)
            return [text for triple in triples for text in self._edit(*triple)]
        return self._union(stretch)

    def _edit(self, base: Text, ours: Text, theirs: Text) -> Sequence[Text]:
        """One unit that both sides changed."""
        if ours == theirs:
            return (ours,)
        text = merge_lines(base.text, ours.text, theirs.text) if b"\n" in base.text else None
        if text is not None:
            merged = Text(base.kind, text)
            self.like[merged] = min(ours, theirs)
            return (merged,)
        self._note((base,), (ours,), (theirs,))
        return (
            (max(ours, theirs),)
            if base.kind in (UnitKind.FRONT, UnitKind.HEADING)
            else sorted((ours, theirs))
        )

    def _union(self, stretch: Stretch[Text]) -> Sequence[Text]:
        """R1 on units: additions of both sides stay, what one side removed goes."""
        versions = numbered(stretch.base), numbered(stretch.ours), numbered(stretch.theirs)
        before, mine, other = (set(version) for version in versions)
        keep = survivors(*versions)
        gone, added, added_too = before - mine - other, mine - before - other, other - before - mine
        if gone and added and added_too:  # both replaced it; what one side alone took out is no conflict
            self._note(
                *(_chosen(keys, some) for keys, some in zip(versions, (gone, added, added_too), strict=True))
            )
        return [text for text, _ in merge_order(keep, versions, rank=lambda key: key, starts=_starts)]

    def _note(self, base: Iterable[Text], ours: Iterable[Text], theirs: Iterable[Text]) -> None:
        before, *values = (b"\n".join(text.text for text in side) for side in (base, ours, theirs))
        self.conflicts.append(conflict(self._path, ConflictKind.EDIT, before, values))


def _chosen(keys: Iterable[Numbered[Text]], some: set[Numbered[Text]]) -> list[Text]:
    return [key[0] for key in keys if key in some]


def _starts(key: Numbered[Text]) -> bool:
    return key[0].kind == UnitKind.HEADING


def _is_edit(stretch: Stretch[Text]) -> bool:
    """Whether both sides replaced each unit by another one of its kind."""
    kinds = [[text.kind for text in side] for side in (stretch.base, stretch.ours, stretch.theirs)]
    kept = set(stretch.base) & {*stretch.ours, *stretch.theirs}
    return not kept and bool(stretch.base) and kinds[0] == kinds[1] == kinds[2]


def _limited(
    texts: Sequence[Text], base: Sequence[Text], ours: Sequence[Text], theirs: Sequence[Text]
) -> Iterator[Text]:
    """R1 for the whole document: a unit that one side moved and the other removed, or that both moved, is not there twice."""
    before, mine, other = Counter(base), Counter(ours), Counter(theirs)
    written: Counter[Text] = Counter()
    for text in texts:
        written[text] += 1
        made_here = not mine[text] and not other[text]
        if made_here or written[text] <= pick_count(before[text], mine[text], other[text]):
            yield text
