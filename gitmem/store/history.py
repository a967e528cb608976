"""The queue of archived pieces: `memory/history.jsonl` and its cursors (memory-format, section 3)."""

import datetime as dt
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.core import history
from gitmem.core.history import Entry, History
from gitmem.core.leaks import without_leaks
from gitmem.edges import durable, syscalls
from gitmem.edges.lock import history_lock
from gitmem.errors import Stale, UnsafePath
from gitmem.store import old_history, placing
from gitmem.store.session_files import Stamp, stamp

_PATIENCE = 10.0
_TRIES = 20
"""How often a writer that takes no lock may come in between."""


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
        self._seen = _Seen(self._file)

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
            UnsafePath: The file is a link, or lies behind one.
        """
        text = without_leaks(content)[: min(limit, history.MAX_CONTENT)]
        now = f"{dt.datetime.now():%Y-%m-%d %H:%M}"  # noqa: DTZ005  the queue holds naive local times
        with self._writing():
            # past what was dreamed as well: an entry below that would never be read
            cursor = max(self._seen.greatest(), self._number(self._counter), self.dream_cursor) + 1
            line = history.record(cursor, now, text, session_key)
            self._seen.note(self._add(line), cursor)
            durable.replace(self._counter, str(cursor).encode(), 0o600)
        return Entry(cursor, now, text, session_key, line, 0)

    def _add(self, line: bytes) -> bytes:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._file, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            tail = os.pread(descriptor, 1, size - 1) if size else b""
            added = history.addition(tail, line)
            syscalls.write_all(descriptor, added, self._file)
            syscalls.fsync(descriptor, self._file)
        finally:
            os.close(descriptor)
        return added

    def read(self) -> History:
        """The whole queue, and what is wrong with it."""
        return history.parse(placing.read(self._file) or b"")

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
        return self._number(self._dreamed)

    def compact(self, keep: int = 1000) -> int:
        """Drop the oldest entries beyond `keep`, as far as a Dream has processed them.

        Returns:
            How many were dropped.

        Raises:
            WorkspaceLocked: Another process holds the queue for seconds.
            Stale: A writer that takes no lock came in between again and again; nothing was dropped.
        """
        with self._writing():
            for _ in range(_TRIES):
                data = placing.read(self._file)
                left = history.compact(data or b"", self.dream_cursor, keep)
                if data is None or left == data:
                    return 0
                known = history.parse(data)
                if known.greatest_cursor > self._number(self._counter):
                    # numbers that are dropped must not be given out again
                    durable.replace(self._counter, str(known.greatest_cursor).encode(), 0o600)
                if placing.place(self._file, data, left):
                    return len(known.entries) - len(history.parse(left).entries)
        raise Stale(f"others keep writing {self._file}", "Try again.")

    def migrate(self) -> int:
        """Take an old `memory/HISTORY.md` over, once. It stays as `HISTORY.md.bak`; its entries count as dreamed.

        A crash in between leaves the old file, and the next call goes on: entries that are there are not made again.

        Returns:
            How many entries it became; 0 where there is nothing to take over, or the queue is in use already.

        Raises:
            WorkspaceLocked: Another process holds the queue for seconds.
            UnsafePath: One of the files is a link.
        """
        with self._writing():
            return old_history.take_over(self._file.parent)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        durable.make_folders(self._file.parent)
        if self._file.parent.is_symlink():
            raise UnsafePath(f"{self._file.parent} is a symbolic link", "Put the folder itself there.")
        with history_lock(self._directory).hold(_PATIENCE):
            yield

    def _number(self, path: Path) -> int:
        return history.parse_cursor(placing.read(path)) or 0


class _Seen:
    """What is known of a history file, so that appending reads only what others have added since.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: Stamp | None = None
        self._digest = hashlib.blake2b()
        self._size = 0
        self._greatest = 0

    def greatest(self) -> int:
        """The greatest number that the file uses up."""
        if self._stamp is None or self._stamp != stamp(self._path):
            self._look(placing.read(self._path) or b"")
        return self._greatest

    def note(self, added: bytes, cursor: int) -> None:
        """We have appended a line; `greatest` was asked for before, under the same lock."""
        self._digest.update(added)
        self._size += len(added)
        self._greatest = cursor
        now = stamp(self._path)
        self._stamp = now if now is not None and now[1] == self._size else None

    def _look(self, data: bytes) -> None:
        """Read what was added, or all of it where anything else has changed."""
        known = self._size
        if known and data[known - 1 : known] == b"\n" and self._is_known(data[:known]):
            self._greatest = max(self._greatest, history.parse(data[known:]).greatest_cursor)
            self._digest.update(data[known:])
        else:
            self._greatest = history.parse(data).greatest_cursor
            self._digest = hashlib.blake2b(data)
        self._size = len(data)

    def _is_known(self, data: bytes) -> bool:
        return hashlib.blake2b(data).digest() == self._digest.digest()
