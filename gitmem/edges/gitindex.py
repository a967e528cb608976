"""Keeping a person's `git status` clean: the index learns what we committed, although no commit uses it.

Only entries that still are as the branch had them before our commit are moved on; whatever a person has staged stays (B60). A
held lock means later, never waiting and never stealing (gitstore, section 1).
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from dulwich.index import ConflictedIndexEntry, IndexEntry
from dulwich.objects import ObjectID

from gitmem.core.model import Kind, TreePath
from gitmem.edges import durable, indexfile
from gitmem.edges.gitdir import GitDir
from gitmem.edges.repo import Repository
from gitmem.edges.trees import Entry
from gitmem.errors import RepositoryBusy

_OWED = "index-owed.json"
_PASSED = 100
_OWN_RUN = 50
"""How many of our newest commits are looked at for what a kill kept from the index."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What one path was on the branch before our commits and is after them.

    Attributes:
        old: Before the first of them.
        new: After the last.
        passed: In between; an index that a person brought up to date meanwhile may have one of these.
    """

    old: Entry | None
    new: Entry | None
    passed: tuple[Entry | None, ...] = ()

    def then(self, later: "Moved") -> "Moved":
        """This and a later move of the same path as one."""
        return Moved(self.old, later.new, (*self.passed, self.new, later.old, *later.passed)[-_PASSED:])

    def starts_at(self, entry: Entry | None) -> bool:
        """Whether an index entry is one that the branch left behind."""
        return entry != self.new and entry in (self.old, *self.passed)


def follow(moved: dict[TreePath, Moved], later: Mapping[TreePath, Moved]) -> None:
    """Add later moves to earlier ones."""
    for path, change in later.items():
        moved[path] = moved[path].then(change) if path in moved else change


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
    follow(owed, moved)
    if not owed:
        return True
    try:
        contents = indexfile.read(repo.git)
        moves = [_move(contents, *item, outside) for item in owed.items()]
        if any(moves):
            indexfile.replace(repo.git, contents)
    except (RepositoryBusy, ValueError, AssertionError):
        _owe(repo, owed)
        return False
    (repo.git.state / _OWED).unlink(missing_ok=True)
    return True


def owing(repo: Repository) -> dict[TreePath, Moved]:
    """What an earlier refresh could not do; nothing where that cannot be read."""
    try:
        values: Any = json.loads((repo.git.state / _OWED).read_text("utf-8"))
        return {name: _moved(*sides) for name, sides in values.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _moved(*sides: list[Any] | None) -> Moved:
    old, new, *passed = (Entry(*side) if side else None for side in sides)
    return Moved(old, new, tuple(passed))


def _owe(repo: Repository, owed: Mapping[TreePath, Moved]) -> None:
    sides = {
        name: [[side.mode, side.sha] if side else None for side in (change.old, change.new, *change.passed)]
        for name, change in owed.items()
    }
    durable.replace(repo.git.state / _OWED, json.dumps(sides).encode("ascii"), 0o600)


def moved_by(repo: Repository, commit: str) -> dict[TreePath, Moved]:
    """What a commit moved."""
    return {change.path: Moved(change.old, change.new) for change in repo.changes(commit)}


def behind(repo: Repository, head: str | None) -> dict[TreePath, Moved]:
    """Every path whose index entry is not the branch's. For a repository of our own, where nobody else commits."""
    files = repo.files(head)
    known = _entries(repo.git)
    found = {path: Moved(known.get(path), entry) for path, entry in files.items() if known.get(path) != entry}
    return found | {path: Moved(entry, None) for path, entry in known.items() if path not in files}


def lagging(repo: Repository, head: str | None) -> dict[TreePath, Moved]:
    """Paths of our newest commits that the index does not know yet: a kill came between. For a shared repository."""
    moved: dict[TreePath, Moved] = {}
    ours = takewhile(lambda commit: commit.kind is not Kind.FOREIGN, repo.history(head))
    for commit in reversed(list(islice(ours, _OWN_RUN))):
        if commit.parents:
            follow(moved, {change.path: Moved(change.old, change.new) for change in repo.changes(commit.sha)})
    if not moved:
        return {}
    known = _entries(repo.git)
    return {path: change for path, change in moved.items() if change.starts_at(known.get(path))}


def _entries(git: GitDir) -> dict[TreePath, Entry]:
    """The index's entries; none where it cannot be read, which git tells its owner better than we could."""
    try:
        contents = indexfile.read(git)
    except (ValueError, AssertionError):
        return {}
    return {
        os.fsdecode(name): Entry(entry.mode, entry.sha.decode("ascii"))
        for name, entry in contents.entries.items()
        if isinstance(entry, IndexEntry)
    }


def _move(contents: indexfile.Contents, path: TreePath, change: Moved, outside: frozenset[str]) -> bool:
    """Move one entry on, where it still is one that the branch left behind; whether it did."""
    name = os.fsencode(path)
    present = contents.entries.get(name)
    if isinstance(present, ConflictedIndexEntry):
        return False
    known = None if present is None else Entry(present.mode, present.sha.decode("ascii"))
    if not change.starts_at(known):
        return False
    if change.new is None:
        del contents.entries[name]
        return True
    entry = _unchecked(change.new)
    entry.set_skip_worktree(path.partition("/")[0] in outside)
    contents.entries[name] = entry
    return True


def _unchecked(entry: Entry) -> IndexEntry:
    """An entry without cached times: git compares the content itself at its next look and fills them in."""
    sha = ObjectID(entry.sha.encode("ascii"))
    return IndexEntry(ctime=0, mtime=0, dev=0, ino=0, mode=entry.mode, uid=0, gid=0, size=0, sha=sha)
