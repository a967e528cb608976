"""Putting what was merged on disk, file by file, where no agent is at work on it (merge.md, section 5, install).

The branch may be ahead of the disk for a while; the record of views says where. Each file is exchanged only over the bytes that
are there by our account, so nothing that a writer put there meanwhile is ever lost.
"""

import os
from dataclasses import dataclass

from gitmem.core.merge.conflict import FOLDER
from gitmem.core.model import MODE_SYMLINK, PathClass, TreePath
from gitmem.edges import account, config, files, hot, saves, tip, transaction, views
from gitmem.edges.opened import Opened
from gitmem.edges.trees import Entry
from gitmem.errors import GitmemError, UnsafePath

_NOT_ON_DISK = f"{FOLDER.partition('/')[0]}/"
"""gitmem's own folder in the tree, such as records of conflicts: read from history alone."""
_ORDER = {"memory/.cursor": 0, "memory/history.jsonl": 1, "memory/.dream_cursor": 3}
"""Numbers are raised before entries come, and count as dreamed last: a crash in between only repeats work."""


@dataclass(frozen=True)
class Installed:
    """What an install did.

    Attributes:
        done: Paths that are on disk now as they are on the branch.
        waiting: Paths that are not yet, and why.
    """

    done: tuple[TreePath, ...]
    waiting: dict[TreePath, str]


def pending(opened: Opened) -> list[TreePath]:
    """Paths whose file on disk is behind the branch, in the order in which they are to be installed."""
    known = account.load(opened)
    tracked = opened.repo.files(tip.current(opened).base) if known else {}
    behind = [
        path
        for path, view in known.items()
        if view.disk != tracked.get(path) and not path.startswith(_NOT_ON_DISK)
    ]
    return sorted(behind, key=lambda path: (_ORDER.get(path, 2), path))


def install(opened: Opened) -> Installed:
    """Install whatever can be installed now.

    Raises:
        RepositoryBusy: The agent is saving a session.
        WorkspaceLocked: Another gitmem process is at work.
    """
    paths = pending(opened)
    if not paths:
        return Installed((), {})
    waiting: dict[TreePath, str] = {}
    done: list[TreePath] = []
    with opened.writing(), transaction.writers_locks(opened, paths):
        target = tip.current(opened)
        if target.operation is not None:
            return Installed((), dict.fromkeys(paths, f"a {target.operation} is in progress"))
        tracked = opened.repo.files(target.base)
        for path in paths:
            why = _one(opened, path, tracked.get(path))
            if why is None:
                done.append(path)
            else:
                waiting[path] = why
        _prune(opened, tracked)
    return Installed(tuple(done), waiting)


def _one(opened: Opened, path: TreePath, entry: Entry | None) -> str | None:
    """Install one file; tells why not. One that cannot be installed is not in the way of the others."""
    try:
        why = _refused(opened, path, entry) or hot.why_hot(opened, path)
        return why or _exchange(opened, path, entry)
    except (GitmemError, OSError) as error:
        return str(error)


def _refused(opened: Opened, path: TreePath, entry: Entry | None) -> str | None:
    """Why a file stays in history and never comes to this disk."""
    try:
        files.check_safe(path)
    except UnsafePath as error:
        return str(error)
    if not opened.classify(path).versioned:
        return "not of a class that is kept here"
    if entry is not None and entry.mode == MODE_SYMLINK:
        return "a symbolic link from another machine is not installed"
    if path == config.WORKSPACE_FILE and entry is not None:
        why = config.fault(opened.repo.read(entry).data)
        if why is not None:
            return f"not installed: {why}"
    twin = _twin(opened, path)
    return None if twin is None else f"its name is the same as that of {twin} here"


def _twin(opened: Opened, path: TreePath) -> str | None:
    """A file on disk that this file system takes for the same name though it is spelled otherwise."""
    place = opened.workspace.layout.disk(path)
    if not os.path.lexists(place):
        return None
    names = os.listdir(place.parent)
    return (
        None
        if place.name in names
        else next((n for n in names if os.path.samefile(place.parent / n, place)), None)
    )


def _exchange(opened: Opened, path: TreePath, entry: Entry | None) -> str | None:
    """Put the branch's version in place of what is there by our account; tells why not."""
    known = account.load(opened)
    view = known[path]
    new = None if entry is None else opened.repo.read(entry)
    reading = opened.read(path)
    disk = reading.file
    if account.entry_of(transaction.committed_form(opened, path, disk)) != view.disk:
        return "written meanwhile"
    saved = None if reading.signature is None else saves.saved_at(opened.repo.git, path, reading.signature)
    views.save(opened.repo.git, {**known, path: view.installing(entry, opened.clock())})
    root, below = opened.workspace.layout.place(path)
    result = files.install(root, below, disk, transaction.live_form(opened, path, disk, new))
    if not result.ok:
        return "written meanwhile"
    known = account.load(opened)
    views.save(opened.repo.git, {**known, path: known[path].holding(entry)})
    _remember_save(opened, path, saved)
    return None


def _remember_save(opened: Opened, path: TreePath, saved: float | None) -> None:
    if opened.classify(path) is PathClass.SESSION:
        signature = opened.read(path).signature
        if signature is not None:
            saves.note(opened.repo.git, path, saved or 0.0, signature)


def _prune(opened: Opened, tracked: dict[TreePath, Entry]) -> None:
    known = account.load(opened)
    classes = {path: opened.classify(path) for path in known}
    left = views.pruned(known, tracked, classes, opened.clock())
    if left != known:
        views.save(opened.repo.git, left)
