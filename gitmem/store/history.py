"""The queue of archived pieces: `memory/history.jsonl` and its cursors (memory-format, section 3)."""

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.core import history, history_migration
from gitmem.core.history import Entry, History
from gitmem.core.leaks import without_leaks
from gitmem.edges import durable, syscalls
from gitmem.edges.lock import history_lock

_PATIENCE = 10.0

_Stamp = tuple[int, int, int]
"""Inode, size and time of a file: while they are the same, nobody has written it."""


class HistoryStore:
    """The history of a workspace. Any number of threads and processes may append at once.

    Args:
        directory: The workspace.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / "memory" / "history.jsonl"
        self._counter = directory / "memory" / ".cursor"
        self._dreamed = directory / "memory" / ".dream_cursor"
        self._known: tuple[_Stamp, int] | None = None

    def append(
        self, content: str, session_key: str | None = None, *, limit: int = history.MAX_CONTENT
    ) -> Entry:
        """Add an entry, durably.

        Args:
            content: The text; what a model let slip is taken out, and text beyond `limit` characters is cut off: split it before.
            session_key: The session it came from.
            limit: The most characters; see the constants of `gitmem.core.history`.

        Returns:
            The entry, with a cursor that no other entry has or had.

        Raises:
            WorkspaceLocked: Another process holds the queue for seconds.
        """
        text = without_leaks(content)[:limit]
        now = f"{dt.datetime.now():%Y-%m-%d %H:%M}"  # noqa: DTZ005  the queue holds naive local times
        with self._writing():
            cursor = max(self._greatest(), history.parse_cursor(_read(self._counter)) or 0) + 1
            line = history.record(cursor, now, text, session_key)
            self._add(line)
            self._known = (self._stamp(), cursor)
            durable.replace(self._counter, str(cursor).encode(), 0o600)
        return Entry(cursor, now, text, session_key, line, 0)

    def _greatest(self) -> int:
        """The greatest cursor in the file; read again only when somebody else has written it."""
        if self._known is None or self._known[0] != self._stamp():
            return history.parse(_read(self._file)).greatest_cursor
        return self._known[1]

    def _stamp(self) -> _Stamp:
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return (0, 0, 0)
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _add(self, line: bytes) -> None:
        descriptor = os.open(
            self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            size = os.fstat(descriptor).st_size
            tail = os.pread(descriptor, 1, size - 1) if size else b""
            syscalls.write_all(descriptor, history.addition(tail, line), self._file)
            syscalls.fsync(descriptor, self._file)
        finally:
            os.close(descriptor)

    def read(self) -> History:
        """The whole queue, and what is wrong with it."""
        return history.parse(_read(self._file))

    def entries(self) -> tuple[Entry, ...]:
        """The valid entries, in the order of the file."""
        return self.read().entries

    def after(self, cursor: int) -> tuple[Entry, ...]:
        """The entries with a greater cursor."""
        return history.after(self.read(), cursor)

    def search(self, text: str) -> tuple[Entry, ...]:
        """The entries that hold a text, in any case."""
        wanted = text.casefold()
        return tuple(entry for entry in self.entries() if wanted in entry.content.casefold())

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the file, one sentence for each damaged line."""
        return self.read().problems

    @property
    def dream_cursor(self) -> int:
        """The last entry that a Dream has processed; 0 for none."""
        return history.parse_cursor(_read(self._dreamed)) or 0

    def compact(self, keep: int = 1000) -> int:
        """Drop the oldest entries beyond `keep`, as far as a Dream has processed them.

        Returns:
            How many were dropped.
        """
        with self._writing():
            data = _read(self._file)
            left = history.compact(data, self.dream_cursor, keep)
            if left == data:
                return 0
            durable.replace(self._file, left, 0o600)
            return len(history.parse(data).entries) - len(history.parse(left).entries)

    def migrate(self) -> int:
        """Take an old `memory/HISTORY.md` over, once. It stays as `HISTORY.md.bak`; its entries count as dreamed.

        A crash in between leaves the old file, and the next call goes on: entries that are there are not made again.

        Returns:
            How many entries it became; 0 where there is nothing to take over, or the queue is in use already.
        """
        old = self._directory / "memory" / "HISTORY.md"
        with self._writing():
            if not old.is_file() or old.is_symlink():
                return 0
            undated = f"{dt.datetime.fromtimestamp(old.stat().st_mtime):%Y-%m-%d %H:%M}"  # noqa: DTZ006
            made = history_migration.migrated(old.read_bytes(), undated)
            if _read(self._file) not in (b"", made):
                return 0
            count = len(history.parse(made).entries)
            if made:
                durable.replace(self._dreamed, str(count).encode(), 0o600)
                durable.replace(self._counter, str(count).encode(), 0o600)
                durable.replace(self._file, made, 0o600)
            syscalls.replace(old, old.with_name("HISTORY.md.bak"))
            syscalls.fsync_dir(old.parent)
            return count

    @contextmanager
    def _writing(self) -> Iterator[None]:
        durable.make_folders(self._file.parent)
        with history_lock(self._directory).hold(_PATIENCE):
            yield


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
