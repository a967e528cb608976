"""Locks between gitmem processes: `flock`, so a dead holder's lock is free at once, with a note of who holds it."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.edges import durable
from gitmem.errors import RepositoryBusy, WorkspaceLocked

_TICK = 0.01


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: process number, since when (Unix seconds), on which host."""

    pid: int
    started: float
    host: str


def holder(path: Path) -> Holder | None:
    """Who wrote the note in a lock file last; None when there is none. A note alone does not mean that it is held."""
    try:
        values: Any = json.loads(path.read_text("utf-8"))
        return Holder(int(values["pid"]), float(values["started"]), str(values["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class FileLock:
    """A lock file. Each `hold` opens it anew, so it works between threads too."""

    path: Path

    @contextmanager
    def hold(self, timeout: float) -> Iterator[None]:
        """Hold the lock for the length of a `with` block.

        Args:
            timeout: Seconds to wait; 0 to try just once.

        Raises:
            WorkspaceLocked: Somebody else holds it; the message names the process.
        """
        durable.make_folders(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        try:
            self._take(descriptor, timeout)
            note = {"pid": os.getpid(), "started": time.time(), "host": socket.gethostname()}
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(note).encode() + b"\n", 0)
            yield
        finally:
            os.close(descriptor)

    def _take(self, descriptor: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not _flock(descriptor):
            if time.monotonic() >= deadline:
                raise self._locked()
            time.sleep(_TICK)

    def _locked(self) -> WorkspaceLocked:
        who = holder(self.path)
        name = "another process" if who is None else f"another gitmem (pid {who.pid})"
        return WorkspaceLocked(f"{name} holds {self.path}", "Ask it instead: gitmem status")


def history_lock(directory: Path) -> FileLock:
    """The lock that every gitmem writer of a workspace's history queue holds: one number is given out once (memory-format, 3)."""
    return FileLock(directory / "memory" / ".history.lock")


@contextmanager
def session_files_lock(path: Path, patience: float) -> Iterator[None]:
    """Hold the lock file that every writer of a sessions folder holds, agents too (memory-format, section 1).

    Args:
        path: The lock file; its folder must be there.
        patience: Seconds to wait.

    Raises:
        RepositoryBusy: An agent is saving a session.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + patience
        while not _flock(descriptor):
            if time.monotonic() > deadline:
                raise RepositoryBusy(f"the agent holds {path}: it is saving a session", "Try again.")
            time.sleep(_TICK)
        yield
    finally:
        os.close(descriptor)


def _flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
