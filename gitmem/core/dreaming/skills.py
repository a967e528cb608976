"""Skills: a folder with a SKILL.md, whose front matter names it and says when it is of use (memory-format, section 4)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gitmem.core.model import TreePath

PATH = re.compile(r"skills/([a-z0-9][a-z0-9-]{0,63})/SKILL\.md")
MOST_WORDS = 2000
MOST_CHARACTERS = 40_000
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A word, or one character of a script that puts no blanks between words."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as its front matter tells it; empty strings where it does not."""

    path: TreePath
    name: str
    description: str


def front_matter(text: str) -> Mapping[str, str] | None:
    """The plain `key: value` lines of the front matter; None where there is no front matter."""
    front = _FRONT.match(text)
    if front is None:
        return None
    fields = (_FIELD.fullmatch(line.rstrip()) for line in front[1].split("\n"))
    return {field[1]: _unquoted(field[2].strip()) for field in fields if field is not None}


def _other_lines(text: str) -> list[str]:
    """The lines of the front matter besides name and description."""
    front = _FRONT.match(text)
    lines = front[1].split("\n") if front is not None else []
    return [line for line in lines if not line.startswith(("name:", "description:"))]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def skill(path: TreePath, text: str) -> Skill:
    """What a skill says of itself."""
    front = front_matter(text) or {}
    return Skill(path, front.get("name", ""), front.get("description", ""))


def fault(path: TreePath, text: str, before: str | None = None) -> str | None:
    """Why a text may not become the skill at a path; None when it may.

    Args:
        path: Where the skill lies.
        text: The whole file.
        before: The file as it was; None for a new skill.
    """
    folder = PATH.fullmatch(path)
    front = front_matter(text)
    if folder is None or front is None:
        return "a skill begins with front matter: ---, name: and description: lines, ---"
    if front.get("name") != folder[1]:
        return f"the front matter must say name: {folder[1]}"
    if not front.get("description"):
        return "the front matter must have a description on one line"
    if _other_lines(text) != _other_lines(before or ""):
        return "only a person sets anything but name and description in the front matter (such as always:)"
    if len(text) > max(MOST_CHARACTERS, len(before or "")):
        return f"a skill has at most {MOST_CHARACTERS} characters"
    if len(_WORD.findall(text)) >= max(MOST_WORDS, len(_WORD.findall(before or ""))):
        return f"a skill has less than {MOST_WORDS} words"
    if not (_FRONT.sub("", text, count=1)).strip():
        return "a skill holds the steps of a workflow"
    return None
