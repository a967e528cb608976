"""Keeping a person's `git status` clean: the index learns what we committed, although no commit uses it.

Only entries that still are as the branch had them before our commit are moved on; whatever a person has staged stays (B60). A
held lock means later, never waiting and never stealing (gitstore, section 1).
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dulwich.file import FileLocked
from dulwich.index import ConflictedIndexEntry, Index, IndexEntry, locked_index
from dulwich.objects import ObjectID

from gitmem.core.model import TreePath
from gitmem.edges import durable
from gitmem.edges.repo import Repository
from gitmem.edges.trees import Entry

_OWED = "index-owed.json"


@dataclass(frozen=True, slots=True)
class Moved:
    """What one path was on the branch before our commits and is after them."""

    old: Entry | None
    new: Entry | None


def refresh(repo: Repository, moved: Mapping[TreePath, Moved], outside: frozenset[str]) -> bool:
    """Bring the index entries of committed paths up to date, and those that an earlier try had to leave.

    An index that lags would make a person's next commit undo ours, so what is owed is written down until it is done.

    Args:
        repo: The repository.
        moved: The paths to bring up to date.
        outside: First path parts that lie outside the working tree (mapped roots): their entries are marked skip-worktree,
            so that git does not report them as deleted.

    Returns:
        False when the index is locked or unreadable; it is to be tried again later.
    """
    owed = owing(repo)
    for name, change in moved.items():
        owed[name] = Moved(owed[name].old if name in owed else change.old, change.new)
    if not owed:
        return True
    path = repo.git.control / "index"
    try:
        with locked_index(str(path)) as index:
            for name, change in owed.items():
                _move(index, os.fsencode(name), change, hidden=name.partition("/")[0] in outside)
    except (FileLocked, ValueError, AssertionError):
        _owe(repo, owed)
        return False
    path.chmod(0o600)
    (repo.git.state / _OWED).unlink(missing_ok=True)
    return True


def owing(repo: Repository) -> dict[TreePath, Moved]:
    """What an earlier refresh could not do; nothing where that cannot be read."""
    try:
        values: Any = json.loads((repo.git.state / _OWED).read_text("utf-8"))
        return {
            name: Moved(*(Entry(*side) if side else None for side in sides)) for name, sides in values.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _owe(repo: Repository, owed: Mapping[TreePath, Moved]) -> None:
    sides = {
        name: [[side.mode, side.sha] if side else None for side in (change.old, change.new)]
        for name, change in owed.items()
    }
    durable.replace(repo.git.state / _OWED, json.dumps(sides).encode("ascii"), 0o600)


def behind(repo: Repository, head: str | None) -> dict[TreePath, Moved]:
    """Every path whose index entry is not the branch's. For a repository of our own, where nobody else commits."""
    files = repo.files(head)
    known = _entries(repo.git.control / "index")
    found = {path: Moved(known.get(path), entry) for path, entry in files.items() if known.get(path) != entry}
    return found | {path: Moved(entry, None) for path, entry in known.items() if path not in files}


def _entries(path: Path) -> dict[TreePath, Entry]:
    if not path.exists():
        return {}
    index = Index(str(path))
    return {
        os.fsdecode(name): Entry(entry.mode, entry.sha.decode("ascii"))
        for name, entry in index.items()
        if isinstance(entry, IndexEntry)
    }


def _move(index: Index, name: bytes, change: Moved, *, hidden: bool) -> None:
    present = index[name] if name in index else None  # noqa: SIM401  an Index is no mapping
    if isinstance(present, ConflictedIndexEntry):
        return
    known = None if present is None else Entry(present.mode, present.sha.decode("ascii"))
    if known != change.old and known != change.new:
        return
    if change.new is None:
        if present is not None:
            del index[name]
        return
    entry = _unchecked(change.new)
    entry.set_skip_worktree(hidden)
    index[name] = entry


def _unchecked(entry: Entry) -> IndexEntry:
    """An entry without cached times: git compares the content itself at its next look and fills them in."""
    sha = ObjectID(entry.sha.encode("ascii"))
    return IndexEntry(ctime=0, mtime=0, dev=0, ino=0, mode=entry.mode, uid=0, gid=0, size=0, sha=sha)
