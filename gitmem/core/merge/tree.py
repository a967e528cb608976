"""Three versions of a whole tree become one (merge.md, section 2)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from gitmem.core.merge.conflict import FOLDER, Conflict, ConflictKind, conflict, copy_path, digest
from gitmem.core.merge.history import Queue, merge_queue
from gitmem.core.merge.modes import MergedPath, merge_modes, merge_path
from gitmem.core.model import MODE_SYMLINK, File, PathClass, TreePath

Classify: TypeAlias = Callable[[TreePath], PathClass]
Tree: TypeAlias = Mapping[TreePath, File]
Newer: TypeAlias = Callable[[TreePath], int]
"""Which side's last commit to a path is the later one: 1 ours, -1 theirs, 0 when that cannot be told."""

_QUEUE = ("history.jsonl", ".cursor", ".dream_cursor")
_GIVEN_BY_NOBODY = b"\v"
"""Behind the number in `.cursor` of a base that is no commit. A machine may by chance have given the same numbers as such a base:
the other one does not know them, so its own are not to be taken over as they are. White space to whoever reads the number."""
_COPY_NAMES = (8, 16, 64)
"""Digits in the name of a copy: more where somebody else's file has the shorter name."""


@dataclass(frozen=True, slots=True)
class MergedTree:
    """What a merge makes.

    Attributes:
        files: The paths that differ from ours: their new state, None for removed.
        conflicts: What could not be decided.
    """

    files: Mapping[TreePath, File | None]
    conflicts: tuple[Conflict, ...] = ()


def merge_tree(
    classify: Classify,
    base: Tree,
    ours: Tree,
    theirs: Tree,
    *,
    newer: Newer = lambda _: 0,
    record: bool = True,
) -> MergedTree:
    """Merge two trees. Pure, never raises whatever the bytes, and makes the same tree for ours and theirs exchanged.

    Args:
        classify: What each path means.
        base: The tree both started from: that of the common ancestor, or of several ancestors merged by this function; empty
            where there is none. All three trees may leave out paths that are the same in all.
        ours: Our tree.
        theirs: The other tree.
        newer: Decides which version of a file that cannot be merged stays at its path; asked for such files only. See `Writes`.
        record: Whether to write the records of conflicts and the copies of losing versions. Not for the base of another merge:
            no side has seen those copies, so that a side without one would seem to have removed it.
    """
    versions = (base, ours, theirs)
    merged = dict(_queues(classify, versions, virtual=not record))
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        if path not in merged:
            merged[path] = _merged_path(classify(path), path, versions, newer)
    tree, conflicts = _settled(merged, record=record)
    if record:
        tree |= dict(told.record for told in conflicts)
    changed = sorted(path for path in tree.keys() | ours.keys() if tree.get(path) != ours.get(path))
    return MergedTree({path: tree.get(path) for path in changed}, tuple(conflicts))


def applied(tree: Tree, files: Mapping[TreePath, File | None]) -> dict[TreePath, File]:
    """A tree with some paths changed or, where they are None, removed."""
    return {path: file for path, file in {**tree, **files}.items() if file is not None}


def _merged_path(
    path_class: PathClass, path: TreePath, versions: tuple[Tree, Tree, Tree], newer: Newer
) -> MergedPath:
    files = [version.get(path) for version in versions]
    result = merge_path(path_class, path, *files)
    side = 0 if result.loser is None else newer(path)
    return merge_path(path_class, path, *files, newer=side) if side else result


def _queues(
    classify: Classify, versions: tuple[Tree, Tree, Tree], *, virtual: bool
) -> Iterator[tuple[TreePath, MergedPath]]:
    """Merge the files of each history queue as one thing; only a queue of which a part is a link is left to the others."""
    parts = {path for version in versions for path in version if path.endswith(_QUEUE)}
    found = {path for path in parts if classify(path) in (PathClass.HISTORY, PathClass.CURSOR)}
    for folder in sorted({path.rpartition("/")[0] for path in found}):
        paths = [f"{folder}/{name}".removeprefix("/") for name in _QUEUE]
        files = [[version.get(path) for path in paths] for version in versions]
        if not any(file is not None and file.mode == MODE_SYMLINK for some in files for file in some):
            yield from zip(paths, _merged_queue(paths[0], files, virtual=virtual), strict=True)


def _merged_queue(path: TreePath, files: list[list[File | None]], *, virtual: bool) -> list[MergedPath]:
    base, ours, theirs = (Queue(*(file.data if file else None for file in some)) for some in files)
    conflicts: tuple[Conflict, ...] = ()
    if ours == theirs or theirs == base:
        queue = ours
    elif ours == base:
        queue = theirs
    else:
        queue, conflicts = merge_queue(path, base, ours, theirs)
        if virtual and queue.cursor is not None:
            queue = queue._replace(cursor=queue.cursor + _GIVEN_BY_NOBODY)
    modes = [merge_modes(*versions) for versions in zip(*files, strict=True)]
    merged = [None if data is None else File(data, mode) for data, mode in zip(queue, modes, strict=True)]
    return [MergedPath(merged[0], conflicts), *(MergedPath(file) for file in merged[1:])]


def _settled(
    merged: Mapping[TreePath, MergedPath], *, record: bool
) -> tuple[dict[TreePath, File], list[Conflict]]:
    """A tree in which everything has its place: losing versions in copies if wanted, and no file where a folder is."""
    tree = {path: result.file for path, result in merged.items() if result.file is not None}
    conflicts = [told for result in merged.values() for told in result.conflicts]
    for result in merged.values():
        if record and result.loser is not None:
            told = result.conflicts[-1]
            conflicts[conflicts.index(told)] = replace(told, copy=_keep(tree, told.path, result.loser))
    records = [f"{FOLDER}/record"] if record else []
    while clashes := sorted(tree.keys() & set(_folders([*tree, *(records if conflicts else ())]))):
        for path in clashes:
            file = tree.pop(path)
            if not record:
                continue
            told = conflict(path, ConflictKind.PLACE, None, [digest(file.data).encode()])
            conflicts.append(replace(told, copy=_keep(tree, path, file)))
    return tree, conflicts


def _keep(tree: dict[TreePath, File], path: TreePath, file: File) -> TreePath:
    """Put a copy of what could not stay at a path into the tree; gives where."""
    names = [copy_path(path, file.data, length) for length in _COPY_NAMES]
    name = next((name for name in names if tree.get(name, file) == file), names[-1])
    tree[name] = file
    return name


def _folders(paths: Iterable[TreePath]) -> Iterator[TreePath]:
    for path in paths:
        parts = path.split("/")
        yield from ("/".join(parts[:depth]) for depth in range(1, len(parts)))
