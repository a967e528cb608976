"""Writing git objects durably.

`ObjectWriter` is the whole interface: hand over objects, and when `write` returns they are on the disk. Loose objects are the
first implementation; active packs (gitstore, section 7) stand behind the same Protocol.
"""

import hashlib
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dulwich.object_store import DiskObjectStore
from dulwich.objects import ShaFile

from gitmem.edges import syscalls

_LEVEL = 1
"""zlib level of loose objects: deflate is nearly all the time of a large save, and packs recompress later."""


class ObjectWriter(Protocol):
    """Somewhere to put new objects."""

    def write(self, objects: Iterable[ShaFile]) -> None:
        """Store `objects`; when this returns they survive a power cut. Those already stored cost nothing."""


def blob_sha(data: bytes) -> str:
    """The object name git gives to a blob of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class LooseWriter:
    """One zlib file an object under `objects/xx/`, as git itself writes them."""

    store: DiskObjectStore
    directory: Path

    def write(self, objects: Iterable[ShaFile]) -> None:
        """See `ObjectWriter.write`."""
        touched: set[Path] = set()
        for item in objects:
            if not self._stored(item):
                touched.add(self._write_one(item))
        for directory in sorted(touched):
            syscalls.fsync_dir(directory)

    def _stored(self, item: ShaFile) -> bool:
        """Whether a readable copy exists; a truncated one (power loss) must be written again."""
        path = self._path(item)
        if path.is_file():
            return path.stat().st_size > 0
        return item.id in self.store

    def _path(self, item: ShaFile) -> Path:
        name = item.id.decode("ascii")
        return self.directory / name[:2] / name[2:]

    def _write_one(self, item: ShaFile) -> Path:
        path = self._path(item)
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
