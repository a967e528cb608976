"""What writers may know of files that were merged: the workspace is a replica with a base of its own for each file (merge.md, 5).

After a sync the branch may be ahead of a file on disk (its session is in use), or a file on disk ahead of what its agent holds in
memory. The record says for each such path what is on disk by our account, and which versions a writer may have known. A path that
is not in it is on disk as it is on the branch.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitmem.core.model import PathClass, TreePath
from gitmem.edges import durable
from gitmem.edges.gitdir import GitDir
from gitmem.edges.trees import Entry

_FORGOTTEN = 3600.0
"""Seconds after which nobody is taken to hold an old version of a file that is no session: agents read those for each turn, and
an editor is closed some time (merge.md does not say; sessions are held for as long as an agent runs)."""
_MOST = 8


@dataclass(frozen=True, slots=True)
class View:
    """One path.

    Attributes:
        disk: What is on disk, as it belongs in a tree; None where there is no file.
        versions: What a writer may have known, oldest first; at least one.
        at: When the last version was installed, Unix seconds.
    """

    disk: Entry | None
    versions: tuple[Entry | None, ...]
    at: float

    def installing(self, new: Entry | None, now: float) -> "View":
        """The view just before a version is put on disk: a writer may know it from then on."""
        versions = self.versions if self.versions[-1] == new else (*self.versions, new)
        return replace(self, versions=(versions[0], *versions[1:][-_MOST:]), at=now)

    def holding(self, disk: Entry | None) -> "View":
        """The view with something else on disk."""
        return replace(self, disk=disk)


Views = Mapping[TreePath, View]


def load(git: GitDir) -> dict[TreePath, View]:
    """The record; empty where nothing was merged yet.

    Raises:
        ValueError: It is damaged.
    """
    try:
        rows = json.loads(_file(git).read_text("utf-8", "surrogateescape"))
    except FileNotFoundError:
        return {}
    return {
        path: View(_entry(row["disk"]), tuple(_entry(item) for item in row["versions"]), float(row["at"]))
        for path, row in rows.items()
    }


def save(git: GitDir, views: Views) -> None:
    """Write the record, durably: a crash must not make an old memory look like a new one."""
    rows = {
        path: {"disk": _row(view.disk), "versions": [_row(entry) for entry in view.versions], "at": view.at}
        for path, view in sorted(views.items())
    }
    durable.replace(_file(git), json.dumps(rows, ensure_ascii=True).encode("ascii") + b"\n", 0o600)


def overlay(files: Mapping[TreePath, Entry], views: Views) -> dict[TreePath, Entry]:
    """A tree's files as they are on disk by our account."""
    if not views:
        return dict(files)
    found = {path: entry for path, entry in files.items() if path not in views}
    return found | {path: view.disk for path, view in views.items() if view.disk is not None}


def stamp(git: GitDir) -> int | None:
    """Tells a version of the record from another; None where there is none."""
    try:
        return _file(git).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def begin(
    views: Views, before: Mapping[TreePath, Entry], paths: Iterable[TreePath], now: float
) -> dict[TreePath, View]:
    """The record when the branch is about to move past the disk at some paths.

    Args:
        views: The record.
        before: The branch's files so far.
        paths: The paths whose file on the branch changes.
        now: Unix seconds.
    """
    fresh = {path: View(before.get(path), (before.get(path),), now) for path in paths if path not in views}
    return {**views, **fresh}


def pruned(
    views: Views, files: Mapping[TreePath, Entry], classes: Mapping[TreePath, PathClass], now: float
) -> dict[TreePath, View]:
    """The record without what no longer matters: disk and branch agree, and nobody is taken to know anything older."""
    return {
        path: view
        for path, view in views.items()
        if view.disk != files.get(path)
        or (len(view.versions) > 1 and not _stale(view, classes.get(path), now))
    }


def _stale(view: View, path_class: PathClass | None, now: float) -> bool:
    return path_class is not PathClass.SESSION and now - view.at > _FORGOTTEN


def _file(git: GitDir) -> Path:
    return git.state / "views.json"


def _entry(row: Sequence[Any] | None) -> Entry | None:
    return None if row is None else Entry(int(row[0]), str(row[1]))


def _row(entry: Entry | None) -> list[Any] | None:
    return None if entry is None else [entry.mode, entry.sha]
