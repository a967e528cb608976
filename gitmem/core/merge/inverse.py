"""The inverse of one commit alone: what it did is undone in the files as they are now, and everything later stays (gitstore, 6).

A merge of another temper: base = the commit, theirs = its parent, ours = now, and what both changed is refused, not kept twice.
Record by record on JSONL, fact by fact on Markdown, line by line on other text, as a whole on anything else. Cursors never go
back, so entries that a Dream took are not taken again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitmem.core import session
from gitmem.core.merge.inverse_markdown import undo_markdown
from gitmem.core.merge.inverse_records import undo_lines, undo_queue, undo_session
from gitmem.core.merge.lines import merge_lines
from gitmem.core.merge.takeback import CannotUndoError, Clash
from gitmem.core.model import MODE_SYMLINK, File, PathClass, TreePath

_SHOWN = 200
"""Characters of a text that are shown."""
_RECORDS = (PathClass.SESSION, PathClass.HISTORY)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file cannot be undone, as text for a person."""

    path: TreePath
    reason: str
    clashes: tuple[Clash[bytes], ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.reason}"]
        for clash in self.clashes:
            lines += [f"  commit {_shown(text)}" for text in clash.commit]
            lines += [f"  now    {_shown(text)}" for text in clash.now]
            lines += [f"  before {_shown(text)}" for text in clash.before]
        return "\n".join(lines)


def _shown(unit: bytes) -> str:
    text = unit.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing makes.

    Attributes:
        files: The paths that differ from now, None for removed; none at all where something stands in the way.
        conflicts: What stands in the way.
    """

    files: Mapping[TreePath, File | None]
    conflicts: tuple[Refusal, ...] = ()


def inverse(
    path_class: Callable[[TreePath], PathClass],
    *,
    before: Mapping[TreePath, File],
    commit: Mapping[TreePath, File],
    now: Mapping[TreePath, File],
) -> Undone:
    """Undo a commit in the present files, or say why it cannot be done. Never raises, whatever the bytes.

    Args:
        path_class: What each path means.
        before: The commit's paths in its parent.
        commit: The same paths in the commit.
        now: The same paths at present.
    """
    files: dict[TreePath, File | None] = {}
    refusals: list[Refusal] = []
    for path in sorted(before.keys() | commit.keys()):
        if path_class(path) is PathClass.CURSOR:
            continue
        try:
            result = _undo_file(path_class(path), path, before.get(path), commit.get(path), now.get(path))
        except CannotUndoError as error:
            refusals.append(Refusal(path, error.reason, error.clashes))
            continue
        if result != now.get(path):
            files[path] = result
    return Undone({} if refusals else files, tuple(refusals))


def _undo_file(
    path_class: PathClass, path: TreePath, before: File | None, commit: File | None, now: File | None
) -> File | None:
    if now == commit:
        return before
    if now == before or commit == before:
        return now
    if now is None:
        raise CannotUndoError("it was removed since")
    if commit is None and path_class not in _RECORDS:
        raise CannotUndoError("it was made anew since")
    if any(file is not None and file.mode == MODE_SYMLINK for file in (before, commit, now)):
        raise CannotUndoError("it is a link, and was changed since")
    mid = commit or File(b"", now.mode)
    data = _undo_data(path_class, path, before.data if before else None, mid.data, now.data)
    if data is None:
        return None
    return File(data, before.mode if before is not None and now.mode == mid.mode else now.mode)


def _undo_data(
    path_class: PathClass, path: TreePath, before: bytes | None, commit: bytes, now: bytes
) -> bytes | None:
    """The content; None where the commit made the file and nothing was added since."""
    old = before or b""
    if now == commit:
        return before
    if now == old or commit == old:
        return now
    match path_class:
        case PathClass.SESSION:
            data = undo_session(commit, now, old)
            return data if before is not None or session.parse(data).messages else None
        case PathClass.HISTORY:
            return undo_queue(commit, now, old)
    if path.lower().endswith(".md"):
        data = undo_markdown(commit, now, old)
    elif path.endswith(".jsonl"):
        data = undo_lines(commit, now, old)
    else:
        data = _undo_text(commit, now, old)
    return data if before is not None or data.strip() else None


def _undo_text(commit: bytes, now: bytes, before: bytes) -> bytes:
    if b"\0" in commit + now + before:
        raise CannotUndoError("it was changed since and is no text")
    data = merge_lines(commit, now, before)
    if data is None:
        raise CannotUndoError("later changes touch the same or neighbouring lines")
    return data
