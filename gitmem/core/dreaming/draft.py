"""Copies of the long-term files to which edits are applied one by one, each only when it is sound (memory-engine, section 3)."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gitmem.core import markdown
from gitmem.core.dreaming import skills
from gitmem.core.dreaming.batch import Batch
from gitmem.core.dreaming.proposal import Edit
from gitmem.core.markdown import UnitKind
from gitmem.core.model import TreePath
from gitmem.core.provenance import plain

LONG_TERM = ("SOUL.md", "USER.md", "memory/MEMORY.md")
"""The files that hold facts. A Dream writes these and skills, and nothing else."""
LONGEST_TEXT = 2000
"""Characters of one added or replaced text; a fact is a sentence or two."""
LARGEST_FILE = 64_000
"""Characters of a long-term file, all of which is in the agent's every prompt; a larger one may only shrink."""

_MARKS = re.compile(r"\[(?:permanent|durable|ephemeral|correction|skip)\][ \t]*", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"^[ \t]*\d+\|[ \t]?", re.MULTILINE)
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|^(?:<{7}|={7}|>{7})|<\|[a-z_]+\|>|</?think", re.MULTILINE)
_INVISIBLE = re.compile(
    "[\\x80-\\x9f\\u200b-\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff\\ud800-\\udfff\\U000e0000-\\U000e007f]"
)
"""What a reader does not see: other line ends, directions, blanks of no width, tags; and halves of characters."""
_PUNCTUATION = re.compile("[\\s.,;:!?*_`'\"\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]+")


class Refused(Exception):  # noqa: N818  (never leaves the package: it becomes a `Refusal`)
    """An edit cannot be done; the text says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """An edit that was applied: the facts it brought and those it took away."""

    edit: Edit
    brought: tuple[str, ...]
    took: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The texts as they would be.

    Attributes:
        before: Each file's text as the model saw it.
        texts: The same with the edits applied; files that were created besides.
        changes: The edits applied, in order.
    """

    before: Mapping[TreePath, str]
    texts: Mapping[TreePath, str]
    changes: tuple[Change, ...] = ()

    @property
    def changed(self) -> dict[TreePath, str]:
        """The files that are different now."""
        return {path: text for path, text in self.texts.items() if self.before.get(path) != text}


def begin(texts: Mapping[TreePath, str]) -> Draft:
    """A draft with nothing changed."""
    return Draft(dict(texts), dict(texts))


def apply(draft: Draft, edit: Edit, batch: Batch) -> Draft:
    """The draft with one more edit.

    Raises:
        Refused: The edit is not sound; the draft is as before.
    """
    _check_target(edit)
    _check_sources(edit, batch)
    edit = replace(edit, text=_cleaned(edit.text), anchor=_LINE_NUMBER.sub("", edit.anchor).strip("\n"))
    before = draft.texts.get(edit.file, "")
    after = _OPERATIONS[edit.op](before, edit, edit.file in draft.texts)
    if after == before:
        raise Refused("it changes nothing")
    change = Change(edit, *_facts_moved(before, after))
    _check_result(draft, edit, change, after)
    return Draft(draft.before, {**draft.texts, edit.file: after}, (*draft.changes, change))


def _check_target(edit: Edit) -> None:
    if edit.file not in LONG_TERM and not skills.PATH.fullmatch(edit.file):
        raise Refused(f"file must be one of {', '.join(LONG_TERM)} or skills/<name>/SKILL.md (a-z, 0-9, -)")
    if edit.op == "create_skill" and edit.file in LONG_TERM:
        raise Refused("create_skill is for skills/<name>/SKILL.md")


def _check_sources(edit: Edit, batch: Batch) -> None:
    cursors = {entry.cursor for entry in batch.entries}
    if foreign := [source for source in edit.sources if source not in cursors]:
        raise Refused(f"source {foreign[0]} is no entry of this batch")
    if skipped := [source for source in edit.sources if source not in batch.citable]:
        raise Refused(f"entry {skipped[0]} is marked skip: nothing of it is stored")


def _cleaned(text: str) -> str:
    """A text without marks and line numbers, which never appear in long-term files."""
    text = _MARKS.sub("", _LINE_NUMBER.sub("", text.replace("\r\n", "\n"))).strip("\n").rstrip()
    if _INVISIBLE.search(text):
        raise Refused("it holds characters that nobody sees")
    if _FORBIDDEN.search(text):
        raise Refused("it holds control characters, conflict markers or template tokens")
    if _is_dump(text):
        raise Refused("it is a dump of data, not a sentence")
    return text


def _is_dump(text: str) -> bool:
    """Whether a text is a value of a program in place of words (case B81)."""
    bare = plain(text)
    if bare in ("None", "null", "undefined", "True", "False", "[object Object]"):
        return True
    try:
        json.loads(bare)
    except (ValueError, RecursionError):
        return bare.startswith(("{'", '{"', "['", '["'))
    return True


def _add(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001  (all operations are called alike)
    if edit.file not in LONG_TERM and not exists:
        raise Refused("this skill does not exist; use create_skill")
    text = _as_items(edit)
    if not edit.anchor:
        return _joined(before, text, "")
    start = _only_place(before, edit.anchor)
    end = _end_of_place(before, start + len(edit.anchor))
    return _joined(before[:end], text, before[end:])


def _as_items(edit: Edit) -> str:
    """A fact without a list mark gets one, as its neighbours have; skills are prose."""
    if not edit.text.strip():
        raise Refused("text is empty")
    one_line = "\n" not in edit.text and not edit.text.lstrip().startswith(("#", "-", "*", "+", "|", ">"))
    return (
        f"- {edit.text.strip()}"
        if one_line and edit.file in LONG_TERM and not edit.text[:1].isdigit()
        else edit.text
    )


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
    return line.lstrip().startswith(("- ", "* ", "+ "))


def _end_of_place(text: str, at: int) -> int:
    """Where to add behind an anchor: the end of a heading's section, or of the unit that the anchor is in."""
    end = 0
    section = False
    for unit in markdown.parse(text.encode("utf-8", "surrogateescape")).units:
        size = len((unit.gap + unit.text).decode("utf-8", "surrogateescape"))
        if section and unit.kind is UnitKind.HEADING:
            return end
        end = min(end + size + 1, len(text))
        if not section and end >= at:
            if unit.kind is not UnitKind.HEADING:
                return end
            section = True
    return end


def _only_place(text: str, anchor: str) -> int:
    """Where the anchor stands, when it does so once."""
    if not anchor.strip():
        raise Refused("anchor is empty")
    number = text.count(anchor)
    if number != 1:
        raise Refused(
            f"the anchor is in the file {number} times, not once; copy it exactly, without line number"
        )
    return text.index(anchor)


def _replace(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001
    if not exists:
        raise Refused("there is no such file")
    start = _only_place(before, edit.anchor)
    if not edit.text.strip():
        raise Refused("text is empty; use delete")
    if not _LIST_MARK.match(edit.anchor) and (mark := _LIST_MARK.match(edit.text)):
        edit = replace(edit, text=edit.text[mark.end() :])
    return before[:start] + edit.text + before[start + len(edit.anchor) :]


_LIST_MARK = re.compile(r"[ \t]*[-*+][ \t]+")


def _delete(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001
    """Take out the one unit whose text, or first line, the anchor is."""
    if not exists:
        raise Refused("there is no such file")
    document = markdown.parse(before.encode("utf-8", "surrogateescape"))
    wanted = plain(edit.anchor)
    found = [
        place
        for place, unit in enumerate(document.units)
        if unit.kind in (UnitKind.ITEM, UnitKind.PARAGRAPH)
        and wanted in (plain(unit.text.decode("utf-8", "surrogateescape")), plain(_first_line(unit.text)))
    ]
    if len(found) != 1:
        raise Refused(f"the anchor is the text of {len(found)} facts, not of one; copy the whole line")
    units = [unit for place, unit in enumerate(document.units) if place != found[0]]
    return markdown.render(replace(document, units=tuple(units))).decode("utf-8", "surrogateescape")


def _first_line(text: bytes) -> str:
    return text.partition(b"\n")[0].decode("utf-8", "surrogateescape")


def _create_skill(before: str, edit: Edit, exists: bool) -> str:  # noqa: FBT001
    del before
    if exists:
        raise Refused("this skill exists; use replace or add")
    return f"{edit.text}\n"


_OPERATIONS: Mapping[str, Callable[[str, Edit, bool], str]] = {
    "add": _add,
    "replace": _replace,
    "delete": _delete,
    "create_skill": _create_skill,
}


def facts(text: str) -> tuple[str, ...]:
    """The facts a file states, without list marks."""
    return markdown.facts(text.encode("utf-8", "surrogateescape"))


def _facts_moved(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Facts that came, and facts that went."""
    old, new = facts(before), facts(after)
    return tuple(fact for fact in new if fact not in old), tuple(fact for fact in old if fact not in new)


def _check_result(draft: Draft, edit: Edit, change: Change, after: str) -> None:
    if edit.file not in LONG_TERM:
        if fault := skills.fault(edit.file, after, draft.texts.get(edit.file)):
            raise Refused(fault)
        return
    if edit.op != "add" and _frame(after) != _frame(draft.texts[edit.file]):
        raise Refused("headings stay as they are; add new ones with add")
    if _frame(after)[:1] != _frame(draft.texts.get(edit.file, ""))[:1] and after.startswith("---"):
        raise Refused("only skills have front matter")
    if len(edit.text) > LONGEST_TEXT:
        raise Refused(f"text has more than {LONGEST_TEXT} characters; a fact is a sentence or two")
    if len(after) > max(LARGEST_FILE, len(draft.texts.get(edit.file, ""))):
        raise Refused(f"the file would have more than {LARGEST_FILE} characters")
    if edit.op != "delete":
        _check_new(draft, edit, change)


def _frame(text: str) -> list[str]:
    """What gives a file its shape: front matter and headings."""
    units = markdown.parse(text.encode("utf-8", "surrogateescape")).units
    return [unit.text.decode("utf-8", "surrogateescape") for unit in units if unit.kind <= UnitKind.HEADING]


def _check_new(draft: Draft, edit: Edit, change: Change) -> None:
    """Each fact is in exactly one place (MECE)."""
    brought = {_essence(fact) for fact in change.brought}
    for path in LONG_TERM:
        for fact in facts(draft.texts.get(path, "")):
            if path == edit.file and fact in change.took:
                continue
            if _essence(fact) in brought:
                raise Refused(f"{path} says so already")
    if edit.op == "add" and not change.brought:
        raise Refused("it adds no fact")


def _essence(fact: str) -> str:
    """A fact without what does not change what it says."""
    return _PUNCTUATION.sub(" ", _MARKS.sub("", fact)).strip().casefold()
