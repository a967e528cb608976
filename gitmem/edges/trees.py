"""Reading and patching git trees without an index.

A commit touches a few paths; only the trees on the way to them are read and written (gitstore, section 1: commit without the
index).
"""

import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dulwich.errors import FileFormatException
from dulwich.object_store import BaseObjectStore
from dulwich.objects import ObjectID, ShaFile, Tree

from gitmem.core.model import TreePath
from gitmem.errors import RepositoryRefused

UNREADABLE = (
    KeyError,
    IndexError,
    TypeError,
    OSError,
    ValueError,
    AssertionError,
    FileFormatException,
    zlib.error,
)
"""What dulwich raises for a missing, truncated or corrupt object."""

_MODE_TREE = 0o040000
_MODE_GITLINK = 0o160000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree: git mode and blob name."""

    mode: int
    sha: str


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One path that differs between two trees."""

    path: TreePath
    old: Entry | None
    new: Entry | None


def read_tree(store: BaseObjectStore, sha: ObjectID) -> Tree:
    """Read a tree object; a damaged or missing one is a `RepositoryRefused` that names it."""
    try:
        found = store[sha]
    except UNREADABLE as error:
        raise damaged(sha, error) from error
    if not isinstance(found, Tree):
        raise damaged(sha, "not a tree")
    return found


def damaged(sha: ObjectID | str, reason: object) -> RepositoryRefused:
    """The error for an object that cannot be read."""
    name = sha if isinstance(sha, str) else sha.decode("ascii", "replace")
    return RepositoryRefused(
        f"object {name} of the repository cannot be read ({type(reason).__name__}: {reason})",
        "Nothing was written on top of it. Restore it from a backup (gitmem remote list), then run: gitmem doctor",
    )


def flatten(store: BaseObjectStore, root: ObjectID | None) -> dict[TreePath, Entry]:
    """All files of a tree by path; links to other repositories (gitlinks) are left out."""
    found: dict[TreePath, Entry] = {}
    if root is None:
        return found
    pending = [("", root)]
    while pending:
        prefix, sha = pending.pop()
        for name, mode, child in read_tree(store, sha).iteritems():
            path = prefix + os.fsdecode(name)
            if mode == _MODE_TREE:
                pending.append((path + "/", child))
            elif mode != _MODE_GITLINK:
                found[path] = Entry(mode, child.decode("ascii"))
    return found


def entry_at(store: BaseObjectStore, root: ObjectID, path: TreePath) -> Entry | None:
    """The file at `path`, or None where there is none (a directory counts as none)."""
    sha, mode = root, _MODE_TREE
    for part in path.split("/"):
        if mode != _MODE_TREE:
            return None
        tree = read_tree(store, sha)
        name = os.fsencode(part)
        if name not in tree:
            return None
        mode, sha = tree[name]
    return None if mode in (_MODE_TREE, _MODE_GITLINK) else Entry(mode, sha.decode("ascii"))


def patch(
    store: BaseObjectStore, root: ObjectID | None, changes: Mapping[TreePath, Entry | None]
) -> tuple[ObjectID | None, list[ShaFile]]:
    """Apply file changes to a tree.

    Args:
        store: Where existing trees are read from.
        root: The tree to start from; None is the empty one.
        changes: New entry for each path, None to remove it. A file that takes a directory's place replaces it, and the reverse.

    Returns:
        The name of the new root (None when nothing is left in it) and the trees to write, children first.
    """
    tree = Tree()
    for name, (mode, sha) in _names(store, root).items():
        tree[name] = (mode, sha)
    here, below = _by_folder(changes)
    for name, entry in here.items():
        if entry is not None:
            tree[name] = (entry.mode, ObjectID(entry.sha.encode("ascii")))
        elif name in tree and tree[name][0] != _MODE_TREE:
            del tree[name]
    written: list[ShaFile] = []
    for name, inner in below.items():
        child = tree[name][1] if name in tree and tree[name][0] == _MODE_TREE else None
        subtree, trees = patch(store, child, inner)
        written += trees
        if subtree is not None:
            tree[name] = (_MODE_TREE, subtree)
        elif child is not None:
            del tree[name]
    return (tree.id, [*written, tree]) if len(tree) else (None, written)


_Changes = Mapping[TreePath, Entry | None]


def _by_folder(changes: _Changes) -> tuple[dict[bytes, Entry | None], dict[bytes, _Changes]]:
    """Changes of files right here, and those below each folder."""
    here: dict[bytes, Entry | None] = {}
    below: dict[bytes, dict[TreePath, Entry | None]] = {}
    for path, entry in changes.items():
        head, slash, rest = path.partition("/")
        if slash:
            below.setdefault(os.fsencode(head), {})[rest] = entry
        else:
            here[os.fsencode(head)] = entry
    return here, dict(below)


def empty_tree() -> tuple[ObjectID, Tree]:
    """The tree without files, for a commit that removed the last one."""
    tree = Tree()
    return tree.id, tree


def diff(store: BaseObjectStore, old: ObjectID | None, new: ObjectID | None) -> Iterator[EntryChange]:
    """Paths that differ between two trees, in path order; equal subtrees are not read."""
    yield from sorted(_diff(store, "", old, new), key=lambda change: change.path)


def _diff(
    store: BaseObjectStore, prefix: TreePath, old: ObjectID | None, new: ObjectID | None
) -> Iterator[EntryChange]:
    if old == new:
        return
    before, after = _names(store, old), _names(store, new)
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        path = prefix + os.fsdecode(name)
        yield from _diff(store, path + "/", _subtree(was), _subtree(now))
        if _file(was) != _file(now):
            yield EntryChange(path, _file(was), _file(now))


def _names(store: BaseObjectStore, sha: ObjectID | None) -> dict[bytes, tuple[int, ObjectID]]:
    if sha is None:
        return {}
    return {name: (mode, child) for name, mode, child in read_tree(store, sha).iteritems()}


def _subtree(item: tuple[int, ObjectID] | None) -> ObjectID | None:
    return item[1] if item is not None and item[0] == _MODE_TREE else None


def _file(item: tuple[int, ObjectID] | None) -> Entry | None:
    if item is None or item[0] in (_MODE_TREE, _MODE_GITLINK):
        return None
    return Entry(item[0], item[1].decode("ascii"))
