"""Edits of files that writers may have known in an older version: what they mean on top of what the branch has now."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitmem.core.merge.evidence import known_version
from gitmem.core.merge.tree import merge_tree
from gitmem.core.model import Change, File, TreePath
from gitmem.edges import views
from gitmem.edges.objects import blob_sha
from gitmem.edges.opened import Opened
from gitmem.edges.trees import Entry
from gitmem.edges.views import View, Views
from gitmem.errors import RepositoryRefused


@dataclass(frozen=True)
class Rebased:
    """What edits on disk mean for the branch.

    Attributes:
        changes: The changes of the branch, by path; records of conflicts among them.
        views: The record afterwards.
    """

    changes: dict[TreePath, Change]
    views: dict[TreePath, View]


def load(opened: Opened) -> dict[TreePath, View]:
    """The record of views; one that is damaged counts as empty, and is kept beside."""
    try:
        return views.load(opened.repo.git)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        damaged = opened.repo.git.state / "views.json"
        damaged.replace(damaged.with_suffix(".json.damaged"))
        return {}


def rebase(opened: Opened, head: str | None, known: Views, changes: Mapping[TreePath, Change]) -> Rebased:
    """Put edits of merged files on top of the branch.

    Args:
        opened: The workspace.
        head: The commit that the next one starts from.
        known: The record of views.
        changes: What differs on disk from the record (or, for other paths, from the branch).
    """
    result = Rebased(dict(changes), dict(known))
    for path in changes.keys() & known.keys():
        del result.changes[path]
        _rebase_one(opened, head, result, path, changes[path].new)
    return result


def _rebase_one(opened: Opened, head: str | None, result: Rebased, path: TreePath, new: File | None) -> None:
    view = result.views[path]
    disk = None if new is None else opened.repo.keep(new)
    if disk in view.versions[1:]:  # what was installed was found: no writer did that
        result.views[path] = view.holding(disk)
        return
    versions = [_read(opened, entry) for entry in view.versions]
    texts = [None if file is None else file.data for file in versions]
    kind = opened.classify(path)
    place = known_version(kind, path, texts, None if new is None else new.data)
    branch = opened.repo.file(head, path)
    merged = merge_tree(opened.classify, *(_tree(path, file) for file in (versions[place], new, branch)))
    result.views[path] = View(disk, (disk, *view.versions[place + 1 :]), view.at)
    for name, file in {path: new, **merged.files}.items():
        old = opened.repo.file(head, name)
        if old != file:
            result.changes[name] = Change(name, old, file)
        if name != path:
            result.views.setdefault(name, View(None, (None,), view.at))


def _tree(path: TreePath, file: File | None) -> dict[TreePath, File]:
    return {} if file is None else {path: file}


def _read(opened: Opened, entry: Entry | None) -> File | None:
    """A version; None where it is no longer there: then nothing counts as known, and nothing is taken for deleted."""
    try:
        return None if entry is None else opened.repo.read(entry)
    except RepositoryRefused:
        return None


def on_disk(opened: Opened, known: Views, path: TreePath, committed: File | None) -> File | None:
    """What is on disk by our account, where the branch has `committed`."""
    view = known.get(path)
    return committed if view is None else _read(opened, view.disk)


def entry_of(file: File | None) -> Entry | None:
    """A file as a tree names it."""
    return None if file is None else Entry(file.mode, blob_sha(file.data))
