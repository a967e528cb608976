"""The inverse of one commit alone: what it did is undone in the files as they are now, and everything later stays (gitstore, 6).

In terms of a merge: base = the commit, theirs = its parent, ours = now. Record by record on JSONL, line by line on text, as a
whole on anything else. Cursors never go back, so entries that a Dream took are not taken again.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from gitmem.core import conversation, jsonl, session
from gitmem.core.merge.units import Clash, apply
from gitmem.core.model import MODE_SYMLINK, File, PathClass, TreePath

_METADATA = "metadata"
_ARCHIVED = "last_consolidated"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a file cannot be undone, as text for a person."""

    path: TreePath
    reason: str
    clashes: tuple[Clash, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.reason}"]
        for clash in self.clashes:
            lines += [f"  commit {_shown(unit)}" for unit in clash.base]
            lines += [f"  now    {_shown(unit)}" for unit in clash.ours]
            lines += [f"  before {_shown(unit)}" for unit in clash.theirs]
        return "\n".join(lines)


def _shown(unit: bytes) -> str:
    text = unit.decode("utf-8", "backslashreplace")
    return text if len(text) <= 200 else text[:197] + "..."


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing makes: `files` that differ from now (None: removed), and what stands in the way."""

    files: Mapping[TreePath, File | None]
    conflicts: tuple[Conflict, ...] = ()


def inverse(
    path_class: Callable[[TreePath], PathClass],
    *,
    before: Mapping[TreePath, File],
    commit: Mapping[TreePath, File],
    now: Mapping[TreePath, File],
) -> Undone:
    """Undo a commit in the present files.

    Args:
        path_class: What each path means.
        before: The commit's paths in its parent.
        commit: The same paths in the commit.
        now: The same paths at present.
    """
    files: dict[TreePath, File | None] = {}
    conflicts: list[Conflict] = []
    for path in sorted(before.keys() | commit.keys()):
        if path_class(path) is PathClass.CURSOR:
            continue
        try:
            result = _undo_file(path_class(path), path, before.get(path), commit.get(path), now.get(path))
        except _CannotUndoError as error:
            conflicts.append(Conflict(path, error.reason, error.clashes))
            continue
        if result != now.get(path):
            files[path] = result
    return Undone({} if conflicts else files, tuple(conflicts))


class _CannotUndoError(Exception):
    """Ends the work on one file; never leaves this module."""

    def __init__(self, reason: str, clashes: tuple[Clash, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.clashes = clashes


def _undo_file(
    path_class: PathClass, path: TreePath, before: File | None, commit: File | None, now: File | None
) -> File | None:
    if now == commit:
        return before
    if now == before or commit == before:
        return now
    if now is None:
        raise _CannotUndoError("it was removed since")
    if commit is None:
        raise _CannotUndoError("it was made anew since")
    if MODE_SYMLINK in (now.mode, commit.mode) or b"\0" in now.data + commit.data:
        raise _CannotUndoError("it was changed since and is no text")
    old = before.data if before is not None else b""
    mode = before.mode if before is not None and now.mode == commit.mode else now.mode
    if path_class is PathClass.SESSION:
        data = _undo_session(old, commit.data, now.data)
    elif path_class is PathClass.HISTORY or path.endswith(".jsonl"):
        data = _undo_lines(old, commit.data, now.data)
    else:
        data = _undo_lines(old, commit.data, now.data)
        if before is None and not data.strip():
            return None
    return File(data, mode)


def _undo_lines(before: bytes, commit: bytes, now: bytes) -> bytes:
    lines, clashes = apply(_split(commit), _split(now), _split(before))
    if clashes:
        raise _CannotUndoError("later changes touch the same lines", tuple(clashes))
    return b"".join(lines)


def _split(data: bytes) -> list[bytes]:
    """Lines with their LF; U+2028 and the like are text (B18)."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _undo_session(before: bytes, commit: bytes, now: bytes) -> bytes:
    """Messages record by record, metadata member by member."""
    heads = [_head(data) for data in (before, commit, now)]
    bodies = [[line for line in _split(data) if not _is_head(line)] for data in (before, commit, now)]
    lines, clashes = apply(bodies[1], bodies[2], bodies[0])
    if clashes:
        raise _CannotUndoError("later changes touch the same messages", tuple(clashes))
    body = b"".join(lines)
    if _legal(b"".join(bodies[2])) and not _legal(body):
        raise _CannotUndoError(
            "tool calls and their results would be torn apart; revert the later commit first"
        )
    return _undo_head(*heads, lines=lines, present=bodies[2]) + body


def _is_head(line: bytes) -> bool:
    value = jsonl.decode(line.rstrip(b"\n")) if b'"_type"' in line else None
    return value is not None and value.get("_type") == _METADATA


def _head(data: bytes) -> bytes:
    return next((line for line in _split(data) if _is_head(line)), b"")


def _legal(body: bytes) -> bool:
    return conversation.is_legal(session.parse(body).messages)


def _undo_head(
    before: bytes, commit: bytes, now: bytes, *, lines: Sequence[bytes], present: Sequence[bytes]
) -> bytes:
    """The metadata line with the commit's changes taken out; members that changed again since stay as they are now."""
    values = [jsonl.decode(line.rstrip(b"\n")) or {} for line in (before, commit, now)]
    old, mid, new = values
    inner = [value[_METADATA] if isinstance(value.get(_METADATA), dict) else {} for value in values]
    wanted = _undo_members(old, mid, new)
    wanted[_METADATA] = _undo_members(*inner)
    if "updated_at" in new:
        wanted["updated_at"] = new["updated_at"]
    archived = _undo_archived(*(value.get(_ARCHIVED, 0) for value in values), lines=lines, present=present)
    if archived is not None and (_ARCHIVED in new or archived):
        wanted[_ARCHIVED] = archived
    if wanted == new or not now:
        return now
    return jsonl.rewrite(now.rstrip(b"\n"), wanted) + b"\n"


def _undo_members(old: Mapping[str, Any], mid: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(new)
    for name in old.keys() | mid.keys():
        if old.get(name) == mid.get(name) or new.get(name) != mid.get(name):
            continue
        if name in old:
            result[name] = old[name]
        else:
            result.pop(name, None)
    return result


def _undo_archived(
    old: object, mid: object, new: object, *, lines: Sequence[bytes], present: Sequence[bytes]
) -> int | None:
    """How many leading messages count as archived; None to leave it. A later consolidation stands in the way.

    A message that returns in front of archived ones ends the count there: to summarise again is allowed, to hide is not.
    """
    if not (_is_count(old) and _is_count(mid) and _is_count(new)):
        return None
    if old != mid and new != mid:
        raise _CannotUndoError("more messages were archived or dropped since; revert the later commit first")
    if old != mid:
        return max(0, min(old, len(lines)))
    archived, count = Counter(present[: max(0, new)]), 0
    for line in lines:
        if not archived[line]:
            break
        archived[line] -= 1
        count += 1
    return count


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
