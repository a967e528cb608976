"""What a model proposes: a list of edits, out of a tool call or a JSON document. Only its shape is judged here."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitmem.core.completion import Answer, objects
from gitmem.core.jsontext import JsonObject
from gitmem.core.model import TreePath

TOOL = "propose_edits"
READ_SKILL = "read_skill"
OPERATIONS = ("add", "replace", "delete", "create_skill")
MOST_EDITS = 60
"""Edits of one run; a model that proposes more of them is not distilling (case B88)."""


_CURSOR = re.compile(r"\s*[0-9]{1,18}\s*")


@dataclass(frozen=True, slots=True)
class Edit:
    """One proposed change.

    Attributes:
        file: The file.
        op: One of `OPERATIONS`.
        anchor: The text to replace or delete, or behind which to add; empty for the end of the file.
        text: The new text; empty for a deletion.
        sources: Cursors of the history entries it is made of.
        reason: Why, in the model's words; shown to people, never acted on.
    """

    file: TreePath
    op: str
    anchor: str
    text: str
    sources: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """An edit that is not done, and why: told to the model, so that it can do better.

    Attributes:
        number: Which edit of the proposal, from 1.
        why: One sentence.
    """

    number: int
    why: str


class Refused(Exception):  # noqa: N818  (never leaves the package: it becomes a `Refusal`)
    """An edit cannot be done; the text says why."""


def proposed(answer: Answer) -> list[JsonObject] | None:
    """The edits that an answer holds, as they are; None when it proposes nothing in any form.

    A call of `propose_edits`, or a JSON document with `edits` in the text, however it is wrapped.
    """
    documents: Iterable[JsonObject | None] = [call.arguments for call in answer.calls if call.name == TOOL]
    if not answer.calls:
        documents = objects(answer.text)
    found: list[JsonObject] = []
    seen = False
    for document in documents:
        edits = document.get("edits") if document is not None else None
        if isinstance(edits, list):
            seen = True
            found += [edit if isinstance(edit, dict) else {"edit": edit} for edit in edits]
            if not answer.calls:
                break
    return found if seen else None


def read_edit(number: int, values: Mapping[str, Any]) -> Edit | Refusal:
    """One edit, or what is wrong with its shape."""

    def text(*names: str) -> str | None:
        value = next((values[name] for name in names if values.get(name) is not None), "")
        return value if isinstance(value, str) else None

    file, op, anchor = text("file", "path"), text("op"), text("anchor", "old")
    new, reason, sources = text("text", "new", "content"), text("reason"), _cursors(values.get("sources"))
    if file is None or op is None or anchor is None or new is None:
        return Refusal(number, "file, op, anchor and text must be strings")
    if op not in OPERATIONS:
        return Refusal(number, f"op must be one of {', '.join(OPERATIONS)}")
    if not sources:
        return Refusal(
            number, "sources must list the cursors of the history entries it is made of, as numbers"
        )
    return Edit(file, op, anchor, new, sources, reason or "")


def _cursors(value: object) -> tuple[int, ...]:
    """Cursors, also where they came as text; none if one of them is something else."""
    found = [_cursor(item) for item in value] if isinstance(value, list) else []
    cursors = tuple(cursor for cursor in found if cursor is not None)
    return cursors if len(cursors) == len(found) else ()


def _cursor(value: object) -> int | None:
    if isinstance(value, str):
        return int(value) if _CURSOR.fullmatch(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
