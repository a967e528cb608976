"""Writing git objects durably.

`ObjectWriter` is the whole interface: hand over objects, and when `write` returns they are on the disk. Loose objects are the
first implementation; active packs (gitstore, section 7) stand behind the same Protocol.
"""

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile

from gitmem.edges import syscalls

_TRIES = 5
_REMEMBERED = 60.0
"""Seconds for which new objects are looked after: a `git gc` that began before them may delete them that much later."""
_REMEMBERED_BYTES = 32 * 1024 * 1024
_LEVEL = 1
"""zlib level of loose objects: deflate is nearly all the time of a large save, and packs recompress later."""


@dataclass(frozen=True, slots=True)
class _Recent:
    """An object that is looked after until a time (monotonic seconds)."""

    until: float
    sha: ObjectID
    type_num: int
    data: bytes


class ObjectWriter(Protocol):
    """Somewhere to put new objects."""

    def write(self, objects: Iterable[ShaFile]) -> None:
        """Store `objects`; when this returns they survive a power cut. Those already stored cost nothing."""

    def recheck(self) -> None:
        """Store again what somebody's `git gc` took for garbage before a ref named it (B35). Nearly free when idle."""


def blob_sha(data: bytes) -> str:
    """The object name git gives to a blob of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class LooseWriter:
    """One zlib file an object under `objects/xx/`, as git itself writes them."""

    store: DiskObjectStore
    directory: Path
    _recent: deque[_Recent] = field(default_factory=deque, repr=False, compare=False)

    def write(self, objects: Iterable[ShaFile]) -> None:
        """See `ObjectWriter.write`."""
        items = list(objects)
        until = time.monotonic() + _REMEMBERED
        self._recent.extend(_Recent(until, item.id, item.type_num, item.as_raw_string()) for item in items)
        self._forget(until - _REMEMBERED)
        self._write_missing(items)

    def recheck(self) -> None:
        """See `ObjectWriter.recheck`."""
        self._forget(time.monotonic())
        lost = [known for known in self._recent if not self._stored(known.sha)]
        self._write_missing(ShaFile.from_raw_string(known.type_num, known.data) for known in lost)

    def _forget(self, now: float) -> None:
        size = sum(len(known.data) for known in self._recent)
        while self._recent and (self._recent[0].until < now or size > _REMEMBERED_BYTES):
            size -= len(self._recent.popleft().data)

    def _write_missing(self, items: Iterable[ShaFile]) -> None:
        touched: set[Path] = set()
        for item in items:
            if not self._stored(item.id):
                touched.add(self._write_patiently(item))
        for directory in sorted(touched):
            try:
                syscalls.fsync_dir(directory)
            except FileNotFoundError:  # everything in it went into a pack meanwhile
                continue

    def _write_patiently(self, item: ShaFile) -> Path:
        """Write an object although other programs remove our temporary file, or make and remove its folder, meanwhile."""
        for _ in range(_TRIES - 1):
            try:
                return self._write_one(item)
            except (FileNotFoundError, FileExistsError):
                continue
        return self._write_one(item)

    def _stored(self, sha: ObjectID) -> bool:
        """Whether a readable copy exists; a truncated one (power loss) must be written again."""
        path = self._path(sha)
        if path.is_file():
            return path.stat().st_size > 0
        return sha in self.store

    def _path(self, sha: ObjectID) -> Path:
        name = sha.decode("ascii")
        return self.directory / name[:2] / name[2:]

    def _write_one(self, item: ShaFile) -> Path:
        path = self._path(item.id)
        if not path.parent.is_dir():
            syscalls.mkdir(path.parent, 0o700)
            syscalls.fsync_dir(path.parent.parent)
        temporary = path.parent / f"tmp_obj_{os.getpid()}_{threading.get_ident()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            syscalls.write_all(descriptor, item.as_legacy_object(_LEVEL), temporary)
            os.fchmod(descriptor, 0o400)
            syscalls.fsync(descriptor, temporary)
        finally:
            os.close(descriptor)
        syscalls.replace(temporary, path)
        return path.parent
