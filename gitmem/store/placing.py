"""Reading and replacing the private files of the stores: never through a link, never over bytes that nobody has looked at."""

import os
from contextlib import suppress
from pathlib import Path

from gitmem.core.model import MODE_FILE, MODE_SYMLINK, File
from gitmem.edges import files, syscalls
from gitmem.errors import UnsafePath

_PRIVATE = 0o600
_READINGS = 5


def read(path: Path) -> bytes | None:
    """The bytes of a file; None where there is none.

    Raises:
        UnsafePath: A link or something else that is no file has its name.
    """
    for _ in range(_READINGS):
        reading = files.read_stable(path.parent, path.name)
        if reading.file is not None and not reading.unstable:
            break
        if not os.path.lexists(path):
            return None
    if reading.file is None or reading.file.mode == MODE_SYMLINK:
        raise UnsafePath(f"{path} is not a regular file", "Move it away, or put the file itself there.")
    return reading.file.data


def place(path: Path, expected: bytes | None, data: bytes, *, flush: bool = True) -> bool:
    """Put a private file in place whole, only over the bytes that are expected there.

    The names are exchanged, and what came out is compared: a writer that takes no lock is noticed, and its bytes go back. The
    file becomes readable for its owner only, whatever it was (case B93).

    Args:
        path: The file; its folder is there.
        expected: Its bytes now; None where there is no file.
        data: Its bytes to be.
        flush: Whether it has to survive a power cut when this returns.

    Returns:
        Whether it is in place; if not, nothing has changed.

    Raises:
        UnsafePath: A link or something else that is no file has its name.
    """
    if read(path) != expected:
        return False
    staged = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    staged.unlink(missing_ok=True)
    try:
        _write(staged, data, flush=flush)
        done = _link(staged, path) if expected is None else _swap(staged, path, expected, data)
    finally:
        staged.unlink(missing_ok=True)
    if flush:
        syscalls.fsync_dir(path.parent)
    return done


def _write(path: Path, data: bytes, *, flush: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, _PRIVATE)
    try:
        syscalls.write_all(descriptor, data, path)
        if flush:
            syscalls.fsync(descriptor, path)
    finally:
        os.close(descriptor)


def _link(staged: Path, path: Path) -> bool:
    with suppress(FileExistsError):
        syscalls.link(staged, path)
        return True
    return False


def _swap(staged: Path, path: Path, expected: bytes, data: bytes) -> bool:
    try:
        syscalls.exchange(staged, path)
    except syscalls.NoExchange:
        return _by_install(path, expected, data)
    except FileNotFoundError:
        return False
    if staged.read_bytes() == expected:
        return True
    _swap_back(staged, path, data)
    return False


def _swap_back(staged: Path, path: Path, put: bytes) -> None:
    """Give a writer its place back. If it wrote again meanwhile, its newest version ends up there."""
    while True:
        coming = staged.read_bytes()
        syscalls.exchange(staged, path)
        if staged.read_bytes() == put:
            return
        put = coming


def _by_install(path: Path, expected: bytes, data: bytes) -> bool:
    """Where names cannot be exchanged."""
    path.chmod(_PRIVATE)
    return files.install(path.parent, path.name, File(expected, MODE_FILE), File(data, MODE_FILE)).ok
