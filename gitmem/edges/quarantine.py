"""Where what a remote sends waits until it has been looked at: a folder that no reader of the repository looks into.

A pack that was only half received, half checked or refused is never an object of the repository, whenever the process ends. It
has the name that git gives to such folders, so git's own garbage collection takes away what a power cut leaves behind.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dulwich.object_store import BaseObjectStore, DiskObjectStore
from dulwich.pack import Pack

from gitmem.edges import durable, process, syscalls
from gitmem.errors import RemoteError

_PREFIX = "tmp_objdir-incoming-"
_HEADER = 12
"""Bytes at the start of a pack: the word PACK, its version, and how many objects follow."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is taken from a remote at most. A memory is a thousandth of that; what is larger is a mistake or an attack.

    Attributes:
        pack: Bytes of a pack, as sent.
        objects: Objects in a pack.
        content: Bytes of one object.
        files: Files in the tree of one commit, however few objects they are made of.
        depth: Folders inside each other.
    """

    pack: int = 4 << 30
    objects: int = 2_000_000
    content: int = 1 << 28
    files: int = 1_000_000
    depth: int = 200


class _Store(DiskObjectStore):
    """Objects that came, and behind them those that we have."""

    def __init__(self, path: Path, ours: BaseObjectStore) -> None:
        super().__init__(str(path))
        self._ours = ours

    @property
    def alternates(self) -> list[BaseObjectStore]:
        return [self._ours]


class Quarantine:
    """One fetch's folder; use it as a context manager. Nothing is written before `open`.

    Args:
        ours: The repository's objects.
        limits: What is taken at most.

    Attributes:
        objects: How many objects came; known from `take` on.
        store: What came together with what we have; before `take`, only what we have.
    """

    def __init__(self, ours: DiskObjectStore, limits: Limits) -> None:
        self._ours = ours
        self._limits = limits
        self._objects = Path(ours.path)
        self._folder: Path | None = None
        self._received: IO[bytes] | None = None
        self._size = 0
        self.objects = 0
        self.store: DiskObjectStore = ours

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._received is not None:
            self._received.close()
        if self.store is not self._ours:
            self.store.close()
        if self._folder is not None:
            shutil.rmtree(self._folder)

    def open(self) -> None:
        """Get ready to receive; folders of processes that were killed are taken away."""
        for left_over in self._objects.glob(f"{_PREFIX}*-*"):
            pid = left_over.name.removeprefix(_PREFIX).split("-")[0]
            if pid.isdigit() and not process.alive(int(pid)):
                shutil.rmtree(left_over, ignore_errors=True)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=self._objects))
        for name in ("pack", "info"):
            (self._folder / name).mkdir(mode=0o700)
        self._received = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  (closed at the end of the block)

    def write(self, data: bytes) -> int:
        """Take in a part of the pack; what comes unasked is let fall.

        Raises:
            RemoteError: It is too much.
        """
        if self._received is not None:
            self._size += len(data)
            if self._size > self._limits.pack:
                raise RemoteError(
                    "protocol",
                    f"the server sends more than {self._limits.pack:,} bytes; nothing of it was kept",
                )
            self._received.write(data)
        return len(data)

    def take(self) -> Pack | None:
        """The pack that was received, indexed, with the objects that it builds on; None when nothing came.

        Whatever dulwich raises for a pack that is cut off or corrupt goes through.

        Raises:
            RemoteError: It has too many objects.
        """
        if self._received is None or self._folder is None or not self._size:
            return None
        self._received.seek(0)
        self.objects = int.from_bytes(self._received.read(_HEADER)[8:], "big")
        if self.objects > self._limits.objects:
            raise RemoteError(
                "protocol", f"the server sends {self.objects:,} objects; nothing of it was kept"
            )
        if self.objects == 0:
            return None
        self._received.seek(0)
        self.store = _Store(self._folder, self._ours)
        return self.store.add_thin_pack(self._received.read, None)

    def keep(self) -> None:
        """Let the pack be part of the repository: private, and on the disk before anything refers to it (B93)."""
        if self._folder is None:
            return
        self.store.close()
        target = self._objects / "pack"
        durable.make_folders(target)
        for pack in (self._folder / "pack").glob("pack-*.pack"):
            index = pack.with_suffix(".idx")
            if (target / index.name).exists():  # the very same objects
                continue
            for path in (pack, index):
                _seal(path)
            for path in (pack, index):  # readers look for the index
                syscalls.replace(path, target / path.name)
        syscalls.fsync_dir(target)


def _seal(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o400)
        syscalls.fsync(descriptor, path)
    finally:
        os.close(descriptor)
