"""Patterns with the meaning they have in a .gitignore (git documentation: gitignore, "PATTERN FORMAT").

Own code because the libraries at hand disagree with git where a directory is excluded and a part of it taken back in, which is
just how agents write their allow-lists (case B32). A differential test against git keeps this one honest.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gitmem.core.model import TreePath


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line: what it matches, whether it takes back in (`!`), whether it speaks of directories only."""

    regex: re.Pattern[str]
    negated: bool
    directory_only: bool


@dataclass(frozen=True)
class Patterns:
    """An ordered list of patterns; the last that matches decides, and nothing returns out of an excluded directory."""

    items: tuple[Pattern, ...]
    _directories: dict[TreePath, bool] = field(default_factory=dict, compare=False, repr=False)

    def match(self, path: TreePath) -> bool:
        """Whether a file is matched, itself or through a directory above it."""
        if not self.items:
            return False
        parent = path.rpartition("/")[0]
        return (bool(parent) and self.match_directory(parent)) or self._last(path, directory=False)

    def match_directory(self, path: TreePath) -> bool:
        """Whether a directory is matched, so that nothing below it can be taken back in."""
        known = self._directories.get(path)
        if known is None:
            parent = path.rpartition("/")[0]
            known = (bool(parent) and self.match_directory(parent)) or self._last(path, directory=True)
            self._directories[path] = known
        return known

    def _last(self, path: TreePath, *, directory: bool) -> bool:
        for pattern in reversed(self.items):
            if (directory or not pattern.directory_only) and pattern.regex.fullmatch(path):
                return not pattern.negated
        return False


def parse(lines: Iterable[str]) -> Patterns:
    """Patterns from the lines of a file; blank ones, comments and broken brackets match nothing."""
    return Patterns(tuple(pattern for line in lines if (pattern := _pattern(line)) is not None))


def _pattern(line: str) -> Pattern | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    directory_only = text.endswith("/")
    text = text[:-1] if directory_only else text
    anchored = "/" in text
    text = text.removeprefix("/")
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + _translate(text), re.DOTALL)
    except re.error:
        return None
    return Pattern(regex, negated, directory_only)


_SPECIAL = re.compile(
    r"(?P<deep>(?:^|(?<=/))\*\*/)|(?P<all>(?:^|(?<=/))\*\*$)|\*+|\?|\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\\.|.",
    re.DOTALL,
)
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
}


def _translate(text: str) -> str:
    return "".join(_token(match.group(), match.lastgroup) for match in _SPECIAL.finditer(text))


def _token(token: str, name: str | None) -> str:
    if name == "deep":
        return "(?:[^/]+/)*"
    if name == "all":
        return ".+"
    if token.startswith("*"):
        return "[^/]*"
    if token == "?":  # noqa: S105  a sign of a pattern
        return "[^/]"
    if token.startswith("[") and len(token) > 1:
        return _bracket(token[1:-1])
    return re.escape(token[1:] if token.startswith("\\") and len(token) > 1 else token)


def _bracket(body: str) -> str:
    negated = body[:1] in ("!", "^")
    body = body[1:] if negated else body
    for name, members in _CLASSES.items():
        body = body.replace(f"[:{name}:]", members)
    body = body.replace("[", r"\[").replace("&&", r"\&&").replace("||", r"\||").replace("~~", r"\~~")
    body = r"\]" + body[1:] if body.startswith("]") else body
    return f"(?!/)[{'^' if negated else ''}{body}]"
