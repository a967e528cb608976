"""Copies of the long-term files to which edits are applied one by one, each only when it is sound (memory-engine, section 3)."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitmem.core import markdown
from gitmem.core.dreaming import skills
from gitmem.core.dreaming.batch import Batch
from gitmem.core.dreaming.operations import OPERATIONS, first_line
from gitmem.core.dreaming.proposal import Edit, Refused
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
    "[\\x80-\\x9f\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ud800-\\udfff\\U000e0000-\\U000e007f]"
    "|(?<![^\\s\\u200c\\u200d])[\\u200c\\u200d]|[\\u200c\\u200d](?!\\S)"
)
"""What a reader does not see: other line ends, directions, blanks of no width, tags; and halves of characters. A single joiner
between two characters is part of Persian or Hindi words and of emojis."""
_PUNCTUATION = re.compile("[\\s.,;:!?*_`'\"\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]+")


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
    edit = replace(edit, text=_cleaned(edit.text), anchor=_anchor(edit.anchor))
    before = draft.texts.get(edit.file, "")
    after = OPERATIONS[edit.op](before, edit, edit.file in draft.texts)
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


def _anchor(text: str) -> str:
    return _LINE_NUMBER.sub("", text.replace("\r\n", "\n")).strip("\n")


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


def facts(text: str) -> tuple[str, ...]:
    """The facts a file states, without list marks."""
    return markdown.facts(text.encode("utf-8", "surrogateescape"))


def _facts_moved(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Facts that came, and facts that went."""
    old, new = dict.fromkeys(facts(before)), dict.fromkeys(facts(after))
    return tuple(fact for fact in new if fact not in old), tuple(fact for fact in old if fact not in new)


def _check_result(draft: Draft, edit: Edit, change: Change, after: str) -> None:
    before = draft.texts.get(edit.file, "")
    if len(_MARKS.findall(after)) > len(_MARKS.findall(before)):
        raise Refused("marks such as [durable] do not belong into memory")
    if edit.file not in LONG_TERM:
        if fault := skills.fault(edit.file, after, draft.texts.get(edit.file)):
            raise Refused(fault)
        return
    _check_frame(edit, change, before, after)
    if len(edit.text) > LONGEST_TEXT:
        raise Refused(f"text has more than {LONGEST_TEXT} characters; a fact is a sentence or two")
    if len(after) > max(LARGEST_FILE, len(before)):
        raise Refused(f"the file would have more than {LARGEST_FILE} characters")
    if edit.op != "delete":
        _check_new(draft, edit, change, after)


def _check_frame(edit: Edit, change: Change, before: str, after: str) -> None:
    """What the edit is not about stays as it is: headings, front matter, the facts around an addition."""
    old, new = _frame(before), _frame(after)
    if edit.op != "add" and new != old:
        raise Refused("headings stay as they are; add new ones with add")
    if new[:1] != old[:1] and after.startswith("---"):
        raise Refused("only skills have front matter")
    if edit.op == "add" and (change.took or Counter(old) - Counter(new)):
        raise Refused("it would change what stands around it")
    if edit.op == "add" and (heading := first_line(edit.text).rstrip()) in old:
        raise Refused(f"the heading {heading} is there already; use it as anchor, and leave it out of text")


def _frame(text: str) -> list[str]:
    """What gives a file its shape: front matter and headings."""
    units = markdown.parse(text.encode("utf-8", "surrogateescape")).units
    return [unit.text.decode("utf-8", "surrogateescape") for unit in units if unit.kind <= UnitKind.HEADING]


def _check_new(draft: Draft, edit: Edit, change: Change, after: str) -> None:
    """Each fact is in exactly one place (MECE)."""
    said = {path: _essences(draft.texts.get(path, "")) for path in LONG_TERM}
    now = _essences(after)
    new = now - said[edit.file]
    if any(now[essence] > 1 for essence in new):
        raise Refused(f"{edit.file} says so already")
    for path in LONG_TERM:
        if path != edit.file and new.keys() & said[path].keys():
            raise Refused(f"{path} says so already; a fact is moved by deleting it there first")
    if (edit.op == "add" or change.brought) and not any(map(_essence, change.brought)):
        raise Refused("it adds no fact")


def _essences(text: str) -> Counter[str]:
    """What a file says, and how often."""
    return Counter(filter(None, map(_essence, facts(text))))


def _essence(fact: str) -> str:
    """A fact without what does not change what it says; empty for one without a letter or digit."""
    essence = _PUNCTUATION.sub(" ", _MARKS.sub("", fact)).strip().casefold()
    return essence if any(map(str.isalnum, essence)) else ""
