"""Three versions of what lies at one path: files with their modes, and links (merge.md, section 2.5)."""

from dataclasses import dataclass

from gitmem.core.merge.conflict import Conflict, ConflictKind, conflict
from gitmem.core.merge.files import edit_wins, merge_file
from gitmem.core.merge.rules import pick_flag
from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, File, PathClass, TreePath


@dataclass(frozen=True, slots=True)
class MergedPath:
    """What became of one path.

    Attributes:
        file: What lies there now; None for nothing.
        conflicts: What could not be decided.
        loser: What both could not stay and belongs into a copy; the last conflict tells of it.
    """

    file: File | None
    conflicts: tuple[Conflict, ...] = ()
    loser: File | None = None


def merge_path(
    path_class: PathClass,
    path: TreePath,
    base: File | None,
    ours: File | None,
    theirs: File | None,
    *,
    newer: int = 0,
) -> MergedPath:
    """Merge what lies at a path; see `merge_file` for the arguments."""
    if ours == theirs or theirs == base:
        return MergedPath(ours)
    if ours == base:
        return MergedPath(theirs)
    if ours is not None and theirs is not None and MODE_SYMLINK in (ours.mode, theirs.mode):
        return _choose(path, base, ours, theirs, newer)
    if base is not None and (there := _left(base, ours, theirs)) is not None:
        return MergedPath(there, edit_wins(path, base.data, there.data).conflicts)
    if base is not None and base.mode == MODE_SYMLINK:
        base = None
    data = (base.data if base else None, ours.data if ours else None, theirs.data if theirs else None)
    merged = merge_file(path_class, path, *data, newer=newer)
    if merged.data is None:
        return MergedPath(None, merged.conflicts)
    file = File(merged.data, merge_modes(base, ours, theirs))
    return MergedPath(file, merged.conflicts, None if merged.loser is None else File(merged.loser, file.mode))


def _left(base: File, ours: File | None, theirs: File | None) -> File | None:
    """What one side made of a file that the other removed, where that is a link or differs in its mode alone."""
    left = ours or theirs
    if left is None or (ours is not None and theirs is not None):
        return None
    return left if left.mode == MODE_SYMLINK or left.data == base.data else None


def _choose(path: TreePath, base: File | None, ours: File, theirs: File, newer: int) -> MergedPath:
    """A link and a file, or two links: one of them stays."""
    ranked = sorted(((newer, ours.mode, ours.data), (-newer, theirs.mode, theirs.data)))
    (_, lost_mode, lost), (_, mode, data) = ranked
    texts = [b"%o %s" % (kind, target) for _, kind, target in ranked]
    told = conflict(path, ConflictKind.TYPE, b"%o %s" % (base.mode, base.data) if base else None, texts)
    return MergedPath(File(data, mode), (told,), File(lost, lost_mode))


def merge_modes(base: File | None, ours: File | None, theirs: File | None) -> int:
    """The mode of a merged file: R2 on whether it can be executed. Links need `merge_path`."""
    if ours is None or theirs is None:
        there = ours or theirs
        return there.mode if there is not None else MODE_FILE
    runs, ours_runs, theirs_run = (
        file is not None and file.mode == MODE_EXECUTABLE for file in (base, ours, theirs)
    )
    return MODE_EXECUTABLE if pick_flag(runs, ours_runs, theirs_run) else MODE_FILE
