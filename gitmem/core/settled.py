"""Is a file ready to be committed, and as what? Decided from its class, its committed bytes and the bytes on disk."""

from dataclasses import dataclass
from enum import Enum

from gitmem.core import checkpoint, history, jsonl
from gitmem.core.model import MODE_SYMLINK, File, PathClass


class Verdict(Enum):
    """What to do with a file that may have changed."""

    TAKE = "take"
    """Commit it."""
    RUN_STATE = "run state"
    """Only the agent's run state differs: for the in-flight ref, not for the main branch."""
    WAIT = "wait"
    """A writer is probably in the middle: look again later, take it as it is when it has waited long enough."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the file as it belongs on the main branch (sessions without machine-local fields)."""

    verdict: Verdict
    file: File


def judge(path_class: PathClass, old: File | None, disk: File) -> Judged:
    """Judge one file.

    Args:
        path_class: What the file is.
        old: Its committed version; None where it is new.
        disk: The bytes just read.

    Returns:
        The verdict. Torn JSONL, a file truncated to nothing and an unreadable cursor are moments in a writer's work
        (gitstore, section 3.3; real-world.md: cursors are truncated and rewritten, Markdown is written in place).
    """
    if disk.mode == MODE_SYMLINK:
        return Judged(Verdict.TAKE, disk)
    if old is not None and old.data and not disk.data:
        return Judged(Verdict.WAIT, disk)
    match path_class:
        case PathClass.SESSION:
            return _judge_session(old, disk)
        case PathClass.HISTORY if jsonl.parse(disk.data).torn:
            return Judged(Verdict.WAIT, disk)
        case PathClass.CURSOR if history.parse_cursor(disk.data) is None:
            return Judged(Verdict.WAIT, disk)
        case _:
            return Judged(Verdict.TAKE, disk)


def _judge_session(old: File | None, disk: File) -> Judged:
    committed = File(checkpoint.strip(disk.data), disk.mode)
    if jsonl.is_torn(disk.data):
        return Judged(Verdict.WAIT, committed)
    known = old is not None and old.mode == disk.mode and checkpoint.has_run_state(disk.data)
    if known and old is not None and checkpoint.differs_only_in_run_state(old.data, disk.data):
        return Judged(Verdict.RUN_STATE, committed)
    return Judged(Verdict.TAKE, committed)
