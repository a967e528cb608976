"""Findings about what any writer did: things a person may want to know before they are buried under later commits."""

from collections import Counter
from collections.abc import Collection, Mapping

from gitmem.core.model import Finding, PathClass, TreePath

_SHRUNK = 0.75
"""A memory file that keeps less than this share of its entries is worth a look (memory-engine, section 3, guards)."""
_FEW = 4
"""Workspaces with fewer tracked files than this lose half of them in ordinary work."""


def mass_loss(tracked: Mapping[TreePath, PathClass], lost: Collection[TreePath]) -> bool:
    """Whether so much is gone at once that it looks like an unmounted or emptied folder, not like work (gitstore, 3.6).

    Args:
        tracked: Every file on the branch and its class.
        lost: Those that are gone or emptied now.

    Returns:
        True for more than half of the files, or all of the long-term memory.
    """
    gone = set(lost) & tracked.keys()
    memory = {path for path, path_class in tracked.items() if path_class is PathClass.MEMORY}
    return (len(tracked) >= _FEW and len(gone) * 2 > len(tracked)) or (bool(memory) and memory <= gone)


def entries(data: bytes) -> Counter[bytes]:
    """The lines of a memory file that say something: list items and text, without headings and blank lines."""
    lines = (line.strip() for line in data.split(b"\n"))
    return Counter(line for line in lines if line and not line.startswith(b"#"))


def shrink(old: bytes, new: bytes, path: TreePath) -> Finding | None:
    """A memory file that lost more than a quarter of what it said, or everything (B22)."""
    before, after = entries(old), entries(new)
    total = before.total()
    if total < _FEW or after.total() >= total * _SHRUNK:
        return None
    lost = (before - after).total()
    return Finding(
        "shrink",
        path,
        f"{lost} entries removed of {total}; bring them back: gitmem restore {path} --at HEAD~1",
    )
