"""File-system events as hints. The only importer of watchdog.

An event says no more than "look there": the truth comes from the disk (gitstore, section 3.1). Handlers only hand paths on,
because an exception in one would end the watching silently; whatever may have been missed becomes a rescan.
"""

import errno
import logging
import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from gitmem.core.model import TreePath

_FILTER: list[type[FileSystemEvent]] = [
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent,
    FileAttribEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
"""No opened and closed-without-writing: reading must not wake the reader (B45)."""
_LOGGER = logging.getLogger("watchdog")
_LOGGER.addHandler(logging.NullHandler())
_POLL = 2.0
"""Seconds between scans where events are not to be had."""
_LIMITS = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOSYS})


@dataclass(frozen=True, slots=True)
class Dirty:
    """A path below a root may have changed."""

    prefix: str
    path: TreePath


@dataclass(frozen=True, slots=True)
class Rescan:
    """Anything may have changed, or anything below one folder."""

    reason: str
    prefix: str = ""
    path: TreePath | None = None


Event: TypeAlias = Dirty | Rescan


class Watcher:
    """Watches roots until stopped; mends itself in `check`.

    Attributes:
        mode: `inotify` (whatever the system's events are called) or `polling`.
        restarts: How often dead threads or replaced roots made it start again.
        overflows: How often the kernel dropped events.
    """

    def __init__(
        self,
        roots: Mapping[str, Path],
        sink: Callable[[Event], None],
        *,
        ignored: Callable[[str, TreePath], bool] = lambda _prefix, _path: False,
    ) -> None:
        """Prepare to watch.

        Args:
            roots: Folders by their prefix in the tree.
            sink: Takes each event; called from several threads, must not raise and must not wait.
            ignored: Paths (prefix, path below the root) whose events never matter.
        """
        self.mode = "inotify"
        self.restarts = 0
        self.overflows = 0
        self._roots = dict(roots)
        self._sink = sink
        self._ignored = ignored
        self._observer: BaseObserver | None = None
        self._inodes: dict[str, tuple[int, int] | None] = {}
        self._polled = 0.0
        self._log = _OverflowLog(self._overflow)

    def start(self) -> None:
        """Begin to watch. Roots that are missing are watched once they are there."""
        _LOGGER.propagate = False  # what it says is for us: lost events, and its own ends
        _LOGGER.addHandler(self._log)
        self._begin()

    def stop(self) -> None:
        """End watching; no event comes after this returns."""
        self._end()
        _LOGGER.removeHandler(self._log)

    def check(self) -> None:
        """Look whether watching still works; start again where it does not. Cheap: call it every second."""
        if self.mode == "polling":
            if time.monotonic() - self._polled >= _POLL:
                self._polled = time.monotonic()
                self._sink(Rescan("polling"))
            return
        if self._inodes != self._current_inodes() or not self._alive():
            self.restarts += 1
            self._end()
            self._begin()
            self._sink(Rescan("watching started again"))

    def _begin(self) -> None:
        self._inodes = self._current_inodes()
        observer = Observer()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # nested new folders; a scan follows anyway
                for prefix, root in self._roots.items():
                    if self._inodes[prefix] is not None:
                        observer.schedule(
                            _Handler(self, prefix, root), str(root), recursive=True, event_filter=_FILTER
                        )
                observer.start()
        except OSError as error:
            if error.errno not in _LIMITS:
                raise
            self.mode = "polling"
            with suppress(RuntimeError):
                observer.stop()
            return
        self._observer = observer

    def _end(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def _alive(self) -> bool:
        observer = self._observer
        return (
            observer is not None
            and observer.is_alive()
            and all(emitter.is_alive() for emitter in observer.emitters)
        )

    def _current_inodes(self) -> dict[str, tuple[int, int] | None]:
        return {prefix: _inode(root) for prefix, root in self._roots.items()}

    def _overflow(self) -> None:
        self.overflows += 1
        self._sink(Rescan("events were lost"))

    def seen(self, prefix: str, root: Path, event: FileSystemEvent) -> None:
        """Take one event of watchdog's."""
        for place in (event.src_path, event.dest_path):
            if not place:
                continue
            below = os.path.relpath(os.fsdecode(place), root)
            if below.startswith("..") or self._ignored(prefix, below):
                continue
            if below == ".":
                self._sink(Rescan("a root changed"))
            elif event.is_directory:
                self._sink(Rescan("a folder came, went or moved", prefix, below))
            else:
                self._sink(Dirty(prefix, below))


class _Handler(FileSystemEventHandler):
    """Hands watchdog's events on, with the root they belong to."""

    def __init__(self, watcher: Watcher, prefix: str, root: Path) -> None:
        self._watcher = watcher
        self._prefix = prefix
        self._root = root

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._watcher.seen(self._prefix, self._root, event)


class _OverflowLog(logging.Handler):
    """Hears watchdog say that the kernel dropped events: it tells nobody else."""

    def __init__(self, told: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage().lower():
            self._told()


def _inode(root: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino
