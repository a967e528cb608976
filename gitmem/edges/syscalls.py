"""The system calls that change the disk, each behind one small function with a seam for fault injection.

Everything that must survive a crash goes through here, so that a test can kill the process before each call and see that what is
left is old or new, never between (gitstore, section 8).
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

before: Callable[[str, str], None] | None = None
"""Called with the operation and its target before each one; None outside crash tests."""

_EXCHANGE = 2
_AT_FDCWD = -100
_RENAMEAT2 = {"x86_64": 316, "aarch64": 276}


class NoExchange(OSError):  # noqa: N818  a condition to act on, not a fault
    """This system or file system cannot exchange two names atomically."""


def _seam(operation: str, target: Path | str) -> None:
    if before is not None:
        before(operation, str(target))


def write_all(descriptor: int, data: bytes, target: Path | str) -> None:
    """Write all of `data`; `target` names the file for the seam."""
    _seam("write", target)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def fsync(descriptor: int, target: Path | str) -> None:
    """Flush a file to the disk."""
    _seam("fsync", target)
    os.fsync(descriptor)


def fsync_dir(path: Path) -> None:
    """Flush a folder, so that names made or removed in it survive a power cut."""
    _seam("fsync_dir", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(source: Path, target: Path) -> None:
    """Rename, taking the place of what is there."""
    _seam("rename", target)
    os.replace(source, target)


def link(source: Path, target: Path) -> None:
    """Make a second name; FileExistsError where the name is taken."""
    _seam("link", target)
    os.link(source, target, follow_symlinks=False)


def unlink(path: Path) -> None:
    """Remove a name."""
    _seam("unlink", path)
    os.unlink(path)


def mkdir(path: Path, mode: int) -> None:
    """Make a folder; one that is there already is fine."""
    _seam("mkdir", path)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not path.is_dir():
            raise


def symlink(text: bytes, path: Path) -> None:
    """Make a symbolic link."""
    _seam("symlink", path)
    os.symlink(text, os.fsencode(path))


def exchange(one: Path, other: Path) -> None:
    """Swap two names atomically, whatever they name (renameat2 on Linux, renamex_np on macOS).

    Raises:
        NoExchange: The system or file system cannot.
    """
    _seam("exchange", other)
    first, second = os.fsencode(one), os.fsencode(other)
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux" and platform.machine() in _RENAMEAT2:
        number = _RENAMEAT2[platform.machine()]
        result = libc.syscall(number, _AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
    elif sys.platform == "darwin":
        result = libc.renamex_np(first, second, _EXCHANGE)
    else:
        raise NoExchange(errno.ENOSYS, "names cannot be exchanged here")
    if result != 0:
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise NoExchange(number, os.strerror(number))
        raise OSError(number, os.strerror(number), str(other))
