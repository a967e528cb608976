"""Writing gitmem's own small files (state, records, refs) so that they survive a crash whole."""

import os
from pathlib import Path

from gitmem.edges import syscalls


def make_folders(path: Path) -> None:
    """Make a folder and the ones above it that are missing, all of them private."""
    for folder in reversed([path, *path.parents]):
        if not folder.is_dir():
            syscalls.mkdir(folder, 0o700)


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file and flush it to the disk; a crash in between may leave a part of it."""
    _write(path, data, mode)


def append(path: Path, data: bytes, mode: int) -> None:
    """Add bytes to the end of a file in one write; not flushed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, mode)
    try:
        syscalls.write_all(descriptor, data, path)
    finally:
        os.close(descriptor)


def replace(path: Path, data: bytes, mode: int, *, flush: bool = True) -> None:
    """Put a file in place whole: either the old bytes or the new ones are there at any instant.

    Args:
        path: The file.
        data: Its new bytes.
        mode: Its permissions.
        flush: Whether it has to survive a power cut when this returns.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _write(temporary, data, mode, flush=flush)
    syscalls.replace(temporary, path)
    if flush:
        syscalls.fsync_dir(path.parent)


def _write(path: Path, data: bytes, mode: int, *, flush: bool = True) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        syscalls.write_all(descriptor, data, path)
        if flush:
            syscalls.fsync(descriptor, path)
    finally:
        os.close(descriptor)
