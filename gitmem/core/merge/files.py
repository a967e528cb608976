"""Three versions of one file become one, by the rules for what it is (merge.md, section 2)."""

import json
from dataclasses import dataclass

from gitmem.core.history import parse_cursor
from gitmem.core.merge.conflict import Conflict, ConflictKind, conflict, digest
from gitmem.core.merge.history import Queue, merge_queue
from gitmem.core.merge.lines import merge_lines
from gitmem.core.merge.markdown import merge_markdown
from gitmem.core.merge.records import merge_records
from gitmem.core.merge.session import merge_session
from gitmem.core.model import PathClass, TreePath


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of one file.

    Attributes:
        data: Its content; None where it is removed.
        conflicts: What could not be decided.
        loser: The losing version of a file that cannot be merged; it belongs into a copy.
    """

    data: bytes | None
    conflicts: tuple[Conflict, ...] = ()
    loser: bytes | None = None


def merge_file(
    path_class: PathClass,
    path: TreePath,
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    *,
    newer: int = 0,
) -> Merged:
    """Merge one file. Never raises, whatever the bytes; the same for ours and theirs exchanged.

    Args:
        path_class: What the path means.
        path: The path.
        base: The version both sides started from; None where it did not exist.
        ours: Our version.
        theirs: The other version.
        newer: Which version of a file that cannot be merged wins: 1 ours, -1 theirs, 0 the one with the greater sha256.
    """
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    if path_class is PathClass.SESSION:
        return Merged(*merge_session(path, base, ours, theirs))
    if path_class is PathClass.HISTORY:
        queue, conflicts = merge_queue(path, Queue(base), Queue(ours), Queue(theirs))
        return Merged(queue.history, conflicts)
    if ours is None or theirs is None:
        return edit_wins(path, base, ours or theirs or b"")
    if path_class is PathClass.CURSOR:
        return Merged(max(ours, theirs, key=lambda data: (parse_cursor(data) or 0, data)))
    return _merge_by_name(path, base, ours, theirs, newer)


def edit_wins(path: TreePath, base: bytes | None, edited: bytes) -> Merged:
    """One side removed the file, the other changed it: it stays, and that is told."""
    before = digest(base or b"").encode()
    return Merged(edited, (conflict(path, ConflictKind.DELETE, before, (b"", digest(edited).encode())),))


def _merge_by_name(path: TreePath, base: bytes | None, ours: bytes, theirs: bytes, newer: int) -> Merged:
    name = path.lower()
    if name.endswith(".md"):
        return Merged(*merge_markdown(path, base, ours, theirs))
    if name.endswith(".jsonl"):
        return Merged(merge_records(base or b"", ours, theirs))
    if base is not None and all(_is_text(data) for data in (base, ours, theirs)):
        lines = merge_lines(base, ours, theirs)
        if lines is not None and not (name.endswith(".json") and _spoils_json(ours, theirs, lines)):
            return Merged(lines)
    return choose(path, base, ours, theirs, newer)


def choose(path: TreePath, base: bytes | None, ours: bytes, theirs: bytes, newer: int) -> Merged:
    """Two versions that cannot be merged: one stays at the path, the other belongs into a copy."""
    ranked = sorted(((newer, digest(ours), ours), (-newer, digest(theirs), theirs)))
    (_, _, loser), (_, _, winner) = ranked
    told = conflict(
        path,
        ConflictKind.FILE,
        None if base is None else digest(base).encode(),
        [name.encode() for _, name, _ in ranked],
    )
    return Merged(winner, (told,), loser)


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _spoils_json(ours: bytes, theirs: bytes, merged: bytes) -> bool:
    return _is_json(ours) and _is_json(theirs) and not _is_json(merged)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
