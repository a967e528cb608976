"""Is another program running? Read from /proc; where there is none (macOS), nobody can tell and the answer is None."""

import os
from collections.abc import Sequence
from pathlib import Path

_PROC = Path("/proc")


def alive(pid: int) -> bool:
    """Whether a process of this number runs; one that ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = (_PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return not _PROC.is_dir()
    return state != "Z"


def running(words: Sequence[str]) -> bool | None:
    """Whether a process runs whose program or first argument is named by one of `words`.

    Returns:
        None when it cannot be told: no words, or no /proc on this system.
    """
    if not words or not _PROC.is_dir():
        return None
    return any(_named(entry, words) for entry in _PROC.iterdir() if entry.name.isdigit())


def _named(entry: Path, words: Sequence[str]) -> bool:
    if int(entry.name) == os.getpid():
        return False
    try:
        parts = (entry / "cmdline").read_bytes().split(b"\0")[:3]
    except OSError:
        return False
    names = {os.path.basename(os.fsdecode(part)) for part in parts}
    return any(word in names for word in words)


def has_open(path: Path) -> bool:
    """Whether a process that we may look at has a file open."""
    if not _PROC.is_dir():
        return False
    wanted = os.stat(path)
    return any(_holds(entry / "fd", wanted) for entry in _PROC.iterdir() if entry.name.isdigit())


def _holds(folder: Path, wanted: os.stat_result) -> bool:
    try:
        descriptors = list(folder.iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            if os.path.samestat(descriptor.stat(), wanted):
                return True
        except OSError:
            continue
    return False
