"""Operations begun and not yet done, so that a crash in the middle of one is finished at the next start.

An operation changes files on disk and moves a ref. Its commit is stored before it begins; the record names it, and everything
else can be read from there (gitstore, section 8).
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gitmem.core.model import TreePath
from gitmem.edges import durable, syscalls
from gitmem.edges.gitdir import GitDir


@dataclass(frozen=True)
class Operation:
    """One operation in progress.

    Attributes:
        action: `revert`, `restore` or `replay`.
        ref: The ref it moves.
        old: Where the ref was; None when it did not exist.
        new: The commit it moves to.
        paths: The files it changes on disk.
        ended: Sessions among them whose run state is not put back.
        removed: Files outside the tree that it removes from the disk (checkpoint sidecars).
    """

    action: str
    ref: str
    old: str | None
    new: str
    paths: tuple[TreePath, ...]
    ended: tuple[TreePath, ...] = ()
    removed: tuple[TreePath, ...] = ()


def _folder(git: GitDir) -> Path:
    return git.state / "journal"


def begin(git: GitDir, operation: Operation) -> Path:
    """Record an operation, durably, before its first change.

    Returns:
        The record, to be handed to `done`.
    """
    folder = _folder(git)
    durable.make_folders(folder)
    path = folder / f"{operation.new}.json"
    text = json.dumps(asdict(operation), ensure_ascii=True, indent=1)
    durable.replace(path, text.encode("ascii"), 0o600)
    return path


def done(record: Path) -> None:
    """Forget an operation whose every change is on the disk."""
    syscalls.unlink(record)
    syscalls.fsync_dir(record.parent)


def unfinished(git: GitDir) -> list[tuple[Path, Operation | None]]:
    """Operations that a crash interrupted, oldest first; None for a record that cannot be read."""
    folder = _folder(git)
    if not folder.is_dir():
        return []
    records = sorted(folder.glob("*.json"), key=os.path.getmtime)
    return [(record, _read(record)) for record in records]


def _read(record: Path) -> Operation | None:
    try:
        values: Any = json.loads(record.read_text("ascii"))
        return Operation(
            action=str(values["action"]),
            ref=str(values["ref"]),
            old=values["old"],
            new=str(values["new"]),
            paths=tuple(values["paths"]),
            ended=tuple(values["ended"]),
            removed=tuple(values["removed"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
