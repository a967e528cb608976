"""What each operation makes of a file's text; whether the result is sound is judged in `draft`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gitmem.core import markdown
from gitmem.core.dreaming import skills
from gitmem.core.dreaming.proposal import Edit, Refused
from gitmem.core.markdown import Document, Unit, UnitKind
from gitmem.core.provenance import plain

_MARK_OF_ITEM = r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+"
_LIST_MARK = re.compile(_MARK_OF_ITEM)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_BLOCK = re.compile(rf"{_MARK_OF_ITEM}|[ \t]*(?:#{{1,6}}[ \t]|[|>]|```|~~~)")
"""How a line begins that is no bare sentence."""


def _add(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001  (all operations are called alike)
    if skills.PATH.fullmatch(edit.file) and not exists:
        raise Refused("this skill does not exist; use create_skill")
    text = _as_items(edit)
    if not edit.anchor.strip():
        return _joined(before, text, "")
    start = _only_place(before, edit.anchor)
    end, indent = _end_of_place(before, start + len(edit.anchor))
    if indent and _is_item(text) and not text[0].isspace():
        text = indent + text.replace("\n", f"\n{indent}")
    return _joined(before[:end], text, before[end:])


def _as_items(edit: Edit) -> str:
    """A fact without a list mark gets one, as its neighbours have; skills are prose."""
    if not edit.text.strip():
        raise Refused("text is empty")
    if "\n" in edit.text or skills.PATH.fullmatch(edit.file) or _BLOCK.match(edit.text):
        return edit.text
    return f"- {edit.text.strip()}"


def _joined(head: str, text: str, tail: str) -> str:
    """A text between two others, on lines of its own; list items follow list items without a blank line."""
    head, tail = head.rstrip("\n"), tail.lstrip("\n")
    gap = "\n" if _ends_with_item(head) and _is_item(text) else "\n\n"
    start = f"{head}{gap}{text}" if head else text
    if not tail:
        return f"{start}\n"
    return f"{start}{chr(10) if _is_item(tail) and _is_item(text) else chr(10) * 2}{tail}"


def _ends_with_item(text: str) -> bool:
    units = markdown.parse(text.encode("utf-8", "surrogateescape")).units
    return bool(units) and units[-1].kind is UnitKind.ITEM


def _is_item(line: str) -> bool:
    return _LIST_MARK.match(line) is not None


def _end_of_place(text: str, at: int) -> tuple[int, str]:
    """Where to add behind an anchor, and how far to indent a list item there.

    That is the end of a heading's section, or of the unit that the anchor is in, with the items below it.
    """
    end = int(text.startswith("\ufeff"))
    found: Unit | None = None
    for unit in markdown.parse(text.encode("utf-8", "surrogateescape")).units:
        if found is not None and not _belongs(unit, found):
            break
        end = min(end + len((unit.gap + unit.text).decode("utf-8", "surrogateescape")) + 1, len(text))
        if found is None and end >= at:
            found = unit
    return end, "" if found is None else _indent(found)


def _belongs(unit: Unit, to: Unit) -> bool:
    """Whether a unit stands in the section that a heading begins, or is an item below another one."""
    if to.kind is UnitKind.HEADING:
        return unit.kind is not UnitKind.HEADING
    return to.kind is unit.kind is UnitKind.ITEM and len(_indent(unit)) > len(_indent(to))


def _indent(unit: Unit) -> str:
    text = unit.text.decode("utf-8", "surrogateescape")
    return text[: len(text) - len(text.lstrip(" \t"))] if unit.kind is UnitKind.ITEM else ""


def _only_place(text: str, anchor: str) -> int:
    """Where the anchor stands, when it does so once; where it stands more often, once as a whole line."""
    if not anchor.strip():
        raise Refused("anchor is empty")
    if not text.strip():
        raise Refused("the file is empty, so no anchor is in it; leave anchor empty and use add")
    number = text.count(anchor)
    if number == 1:
        return text.index(anchor)
    if len(places := _whole_lines(text, anchor)) == 1:
        return places[0]
    raise Refused(
        f"the anchor is in the file {number} times, not once; copy the whole line exactly, without line number"
    )


def _whole_lines(text: str, anchor: str) -> list[int]:
    """Where the anchor is all that one or more lines say, list mark aside."""
    line = re.compile(rf"^(?:{_MARK_OF_ITEM}|[ \t]*)({re.escape(anchor)})[ \t]*$", re.MULTILINE)
    return [found.start(1) for found in line.finditer(text)]


def _replace(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001
    if not exists:
        raise Refused("there is no such file")
    start = _only_place(before, edit.anchor)
    if not edit.text.strip():
        raise Refused("text is empty; use delete")
    return before[:start] + _in_place(before, edit, start) + before[start + len(edit.anchor) :]


def _in_place(before: str, edit: Edit, start: int) -> str:
    """The text of a replacement, with a list mark if and only if the anchor has one: the other one keeps its own."""
    if _HEADING.match(edit.text) and not _HEADING.match(edit.anchor):
        raise Refused("a fact is not replaced by a heading; add new ones with add")
    old, new = _LIST_MARK.match(edit.anchor), _LIST_MARK.match(edit.text)
    if old and not _BLOCK.match(edit.text) and start in _whole_lines(before, edit.anchor):
        return old[0] + edit.text
    if new and not old:
        if start not in _whole_lines(before, edit.anchor):
            raise Refused("text is a whole item, but anchor is only a part of one; copy the whole line")
        return edit.text[new.end() :]
    return edit.text


def _delete(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001
    """Take out the one unit whose text, or first line, the anchor is."""
    if not exists:
        raise Refused("there is no such file")
    document = markdown.parse(before.encode("utf-8", "surrogateescape"))
    stated = {
        place: unit.text.decode("utf-8", "surrogateescape")
        for place, unit in enumerate(document.units)
        if unit.kind in (UnitKind.ITEM, UnitKind.PARAGRAPH)
    }
    wanted = plain(edit.anchor)
    found = [place for place, text in stated.items() if plain(text) == wanted]
    found = found or [place for place, text in stated.items() if plain(first_line(text)) == wanted]
    if len(found) != 1:
        raise Refused(f"the anchor is the text of {len(found)} facts, not of one; copy the whole line")
    return _without(document, found[0])


def _without(document: Document, place: int) -> str:
    """The text without a unit; the larger of the gaps around it stays, so that its neighbours do not become one."""
    gone, units = document.units[place], [*document.units[:place], *document.units[place + 1 :]]
    if place < len(units):
        if _belongs(units[place], gone):
            raise Refused("there are items below it; delete those first")
        gap = max(gone.gap, units[place].gap, key=len)
        apart = b"\n" if place and units[place].kind is UnitKind.PARAGRAPH else b""
        units[place] = replace(units[place], gap=gap or apart)
    return markdown.render(replace(document, units=tuple(units))).decode("utf-8", "surrogateescape")


def first_line(text: str) -> str:
    """A text up to its first line end."""
    return text.partition("\n")[0]


def _create_skill(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001
    del before
    if exists:
        raise Refused("this skill exists; use replace or add")
    return f"{edit.text}\n"


OPERATIONS: Mapping[str, Callable[[str, Edit, bool], str]] = {
    "add": _add,
    "replace": _replace,
    "delete": _delete,
    "create_skill": _create_skill,
}
"""By name: the text as it is, the edit, whether the file exists -> the new text.

Raises:
    Refused: It cannot be done.
"""
