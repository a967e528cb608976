"""Which file of a folder holds which session, whoever named it (memory-format, section 1)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.core import jsonl, session, session_names
from gitmem.edges import durable, files
from gitmem.edges.lock import session_files_lock
from gitmem.errors import NotFound, UnsafePath, UsageError
from gitmem.store import placing

_PATIENCE = 10.0
_HEAD = 1 << 16
"""Bytes of a file in which its key is looked for."""
_HEAD_LINES = 5
_SETTLED = 2_000_000_000
"""Nanoseconds after which a change of a file must show in its time."""

Stamp = tuple[int, int, int]
"""Inode, size and time of a file: while they are the same, nobody has written it."""


class SessionFiles:
    """The session files in a folder.

    Args:
        folder: The folder; it need not be there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._keys: dict[Path, tuple[Stamp, str | None]] = {}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock that every writer of the folder holds, agents too.

        Raises:
            RepositoryBusy: An agent holds it.
        """
        durable.make_folders(self.folder)
        with session_files_lock(self.folder / ".session-files.lock", _PATIENCE):
            yield

    def all(self) -> Iterator[Path]:
        """Every session file, by name; links and names that we never touch are left out."""
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if path.name.endswith(session_names.SUFFIX) and _is_ours(path):
                    yield path

    def find(self, key: str) -> Path | None:
        """The file that holds a session: by its likely names first, then by what the files say."""
        likely = [self._path(stem) for stem in _stems(key) if _is_name(stem)]
        for path in likely:
            if _is_ours(path) and self._key_in(path) in (key, None):
                return path
        return next((path for path in self.all() if path not in likely and self._key_in(path) == key), None)

    def existing(self, key: str) -> Path:
        """The file that holds a session.

        Raises:
            NotFound: There is none.
        """
        path = self.find(key)
        if path is None:
            raise NotFound(f"there is no session {key}", "See them all: gitmem sessions")
        return path

    def new(self, key: str) -> Path:
        """Where a session without a file goes; never where a file is already.

        Raises:
            UsageError: All its names are taken by sessions of other keys.
        """
        for stem in (session_names.file_stem(key), session_names.nanobot_stem(key)):
            if _is_name(stem) and not os.path.lexists(self._path(stem)):
                return self._path(stem)
        raise UsageError(
            f"other sessions have the file names of {key!r}",
            f"Look into {self.folder}, or choose another key.",
        )

    def key(self, path: Path) -> str:
        """The key of a file: what it says, else what its name stands for, else its name."""
        stem = path.name.removesuffix(session_names.SUFFIX)
        return self._key_in(path) or session_names.key_from_stem(stem) or stem

    def _path(self, stem: str) -> Path:
        return self.folder / f"{stem}{session_names.SUFFIX}"

    def _key_in(self, path: Path) -> str | None:
        """The key that a file says it has; None where it does not say, or is gone."""
        now = stamp(path)
        known = self._keys.get(path)
        if known is not None and known[0] == now:
            return known[1]
        key = _read_key(path)
        if now is not None and is_settled(now):
            self._keys[path] = now, key
        return key


def stamp(path: Path) -> Stamp | None:
    """The stamp of a file; None where there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_settled(known: Stamp) -> bool:
    """Whether a later change of a file in place would give it another stamp."""
    return time.time_ns() - known[2] > _SETTLED


def _stems(key: str) -> tuple[str, ...]:
    names = session_names.file_stem(key), session_names.nanobot_stem(key), session_names.legacy_stem(key)
    return tuple(dict.fromkeys(names))


def _is_name(stem: str) -> bool:
    """Whether a file can have this stem; old names may hold anything that a key does."""
    try:
        return 0 < len(os.fsencode(stem)) <= 240 and "\0" not in stem and "/" not in stem
    except UnicodeEncodeError:
        return False


def _is_ours(path: Path) -> bool:
    try:
        files.check_safe(path.name)
    except UnsafePath:
        return False
    return path.is_file() and not path.is_symlink()


def _read_key(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except FileNotFoundError:
        return None
    found = [record for line in head.split(b"\n")[:_HEAD_LINES] if (record := jsonl.decode(line))]
    keys = [record.get("key") for record in found if record.get("_type") == session.METADATA]
    if keys and isinstance(keys[-1], str):
        return keys[-1]
    whole = len(head) == _HEAD or b"metadata" in head
    return session.parse(placing.read(path) or b"").key if whole else None
