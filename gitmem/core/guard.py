"""Findings about what any writer did: things a person may want to know before they are buried under later commits."""

import re
from collections import Counter
from collections.abc import Collection, Mapping

from gitmem.core.model import Change, Finding, PathClass, TreePath

ATTENTION = "ATTENTION"
"""Opens the lines of a commit's body that repeat a finding."""
LASTING = frozenset({"shrink", "rewrite", "always-on-skill"})
"""Rules of findings about something that was done and committed, which no later scan finds again."""
_TOLERATED = 0.25
"""The share of its entries that a memory file may lose unnoticed (memory-engine, section 3, guards)."""
_REWRITTEN = 0.75
"""The share of entries that may be replaced by others unnoticed."""
_FEW = 4
"""Smaller files and workspaces lose a half in ordinary work."""
_FRONT_MATTER = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)\n---", re.DOTALL)
_ALWAYS = re.compile(rb"\balways[\"']?\s*:\s*[\"']?(?:true|yes|on)\b", re.IGNORECASE)
_SAYS_SOMETHING = re.compile(rb"[0-9A-Za-z\x80-\xff]")

_MARKERS = tuple(
    re.compile(line, re.MULTILINE) for line in (rb"^<{7}[ \r\n]", rb"^={7}\r?\n", rb"^>{7}(?:[ \r\n]|\Z)")
)


def has_markers(data: bytes) -> bool:
    """Whether a file holds the marks that git leaves around the two sides of a conflict."""
    at = 0
    for line in _MARKERS:
        found = line.search(data, at)
        if found is None:
            return False
        at = found.end()
    return True


def mass_loss(tracked: Mapping[TreePath, PathClass], lost: Collection[TreePath]) -> bool:
    """Whether so much is gone at once that it looks like an unmounted or emptied folder, not like work (gitstore, 3.6).

    Args:
        tracked: Every file on the branch and its class.
        lost: Those that are gone or emptied now.

    Returns:
        True for more than half of the files, where there are at least four; for all of the long-term memory (SOUL.md and
        stray notes beside an emptied `memory/` do not make it work); and for everything, unless everything is one file.
    """
    gone = tracked.keys() & set(lost)
    memory = {path for path, kind in tracked.items() if kind is PathClass.MEMORY and not path.startswith(".")}
    folder = {path for path in tracked if path.startswith("memory/")}
    if (memory and memory <= gone) or (len(folder) > 1 and folder <= gone):
        return True
    return len(gone) * 2 > len(tracked) and (len(tracked) >= _FEW or len(gone) == len(tracked) > 1)


def entries(data: bytes) -> Counter[bytes]:
    """The lines of a memory file that say something: list items and text, without headings, rules, fences and blank lines."""
    lines = (line.strip() for line in data.split(b"\n"))
    return Counter(line for line in lines if not line.startswith(b"#") and _SAYS_SOMETHING.search(line))


def shrink(old: bytes, new: bytes, path: TreePath) -> Finding | None:
    """A memory file that lost more than a quarter of what it said, or everything, or now says something else (B22, B100)."""
    before, after = entries(old), entries(new)
    total, left = before.total(), after.total()
    if total and not left:
        return Finding(
            "shrink", path, f"all {total} entries removed" if total > 1 else "its only entry removed"
        )
    if total < _FEW:
        return None
    lost = (before - after).total()
    if left < total * (1 - _TOLERATED):
        return Finding("shrink", path, f"{lost} entries removed of {total}")
    if lost > total * _REWRITTEN:
        return Finding("rewrite", path, f"{lost} of {total} entries replaced")
    return None


def always_on(old: bytes, new: bytes, path: TreePath) -> Finding | None:
    """A skill that from now on is part of every conversation: where poisoned text wants to be (B100)."""
    if not path.endswith("SKILL.md") or _is_always_on(old) or not _is_always_on(new):
        return None
    return Finding("always-on-skill", path, "this skill is now part of every conversation (always: true)")


def _is_always_on(skill: bytes) -> bool:
    front = _FRONT_MATTER.match(skill)
    return front is not None and _ALWAYS.search(front[1]) is not None


def findings(change: Change) -> list[Finding]:
    """Everything there is to say about a change of one long-term (Markdown) file; nothing about other files."""
    if not change.path.endswith(".md"):
        return []
    old, new = (b"" if file is None else file.data for file in (change.old, change.new))
    found = (shrink(old, new, change.path), always_on(old, new, change.path))
    return [finding for finding in found if finding is not None]
