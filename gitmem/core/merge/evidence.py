"""Which version of a file its writer knew when it wrote a new one (merge.md, section 5, views).

An agent that holds a file in memory writes all of it back, without what was merged into the file meanwhile. What it wrote is an
edit of the version it knew, never of the one on disk; the only witness is what it wrote.
"""

from collections.abc import Hashable, Sequence

from gitmem.core import jsonl, markdown
from gitmem.core.markdown import UnitKind
from gitmem.core.merge.rules import numbered
from gitmem.core.model import PathClass, TreePath


def known_version(
    path_class: PathClass, path: TreePath, versions: Sequence[bytes | None], new: bytes | None
) -> int:
    """The version that a writer started from.

    Args:
        path_class: What the path means.
        path: The path.
        versions: What its writers may know: first what they certainly knew, then what was installed since, oldest first. At
            least one; None where the file did not exist.
        new: What was written; None where the file was removed.

    Returns:
        The place of the newest version of which `new` holds at least half of what no earlier version has; else 0: two writers may
        well write a line that is the same. A removal is meant for
        the newest: nobody removes a file out of an old memory.
    """
    if new is None:
        return len(versions) - 1
    held = _items(path_class, path, new)
    earlier = [_items(path_class, path, version or b"") for version in versions]
    for place in range(len(versions) - 1, 0, -1):
        first_seen = earlier[place] - frozenset().union(*earlier[:place])
        known = first_seen & held
        if versions[place] == new or (known and len(known) * 2 >= len(first_seen)):
            return place
    begun = versions[0] is None and path_class not in (PathClass.SESSION, PathClass.HISTORY)
    return 1 if begun and len(versions) > 1 else 0  # nobody holds a file in memory that was not there


def _telling(record: jsonl.JsonObject) -> bool:
    """Whether a record can be told from an equal one that somebody else wrote: by its time, or by ids."""
    return bool(record.get("timestamp") or record.get("tool_calls") or record.get("tool_call_id"))


def _items(path_class: PathClass, path: TreePath, data: bytes) -> frozenset[Hashable]:
    """What a file is made of: records, units of Markdown, or lines."""
    if path_class is PathClass.SESSION or path.endswith(".jsonl"):
        lines = jsonl.parse(data).lines
        return frozenset(
            numbered(
                jsonl.identity(line.value)
                for line in lines
                if line.value is not None and line.value.get("_type") is None and _telling(line.value)
            )
        )
    if path.lower().endswith(".md"):
        units = markdown.parse(data).units
        return frozenset(numbered(unit.text for unit in units if unit.kind > UnitKind.HEADING))
    return frozenset(numbered(line for line in data.split(b"\n") if line.strip()))
