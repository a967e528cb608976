"""Reading files without being fooled by their writers, and replacing them without losing what a writer just wrote.

Links are never followed, neither at a path's end nor on the way to it. What is not a regular file or a link is never opened.
"""

import errno
import os
import stat
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, File, TreePath
from gitmem.edges import syscalls
from gitmem.errors import UnsafePath

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
_STAGED = ".gitmem-new.tmp"
_ASIDE = ".gitmem-old.tmp"
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{name}{number}" for name in ("com", "lpt") for number in "123456789"}
)
_IGNORABLE = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF], None
)
"""Code points that HFS+ leaves out when it compares names (CVE-2014-9390)."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What `stat` says of a file; unequal means it may have changed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as read.

    Attributes:
        file: Its bytes and git mode; None when it is absent, too large, or not a file or link.
        signature: Its signature while it was read; None when absent.
        unstable: It changed while it was read.
        size: Its size in bytes.
        too_large: It is larger than the limit and was not read.
    """

    file: File | None = None
    signature: Signature | None = None
    unstable: bool = False
    size: int = 0
    too_large: bool = False


@dataclass(frozen=True, slots=True)
class Installed:
    """How an install ended: `ok`, or the bytes that were found instead of the expected ones."""

    ok: bool
    found: File | None = None


def signature_of(status: os.stat_result) -> Signature:
    """The part of a stat result that tells versions of a file apart."""
    return Signature(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def check_safe(path: TreePath) -> None:
    """Refuse names that leave the root or that some system would read as something else.

    Raises:
        UnsafePath: Absolute, empty or dot parts, a NUL, a backslash, any spelling of `.git`, or a Windows device name.
    """
    if not path or path.startswith("/") or "\0" in path or "\\" in path:
        raise UnsafePath(f"{path!r} is not a path inside the workspace")
    for part in path.split("/"):
        plain = unicodedata.normalize("NFC", part.translate(_IGNORABLE)).lower().rstrip(". ").split(":")[0]
        if part in ("", ".", "..") or plain in (".git", "git~1") or plain.split(".")[0] in _DEVICES:
            raise UnsafePath(f"{path!r} has a part that is never read or written: {part!r}")


def _parent(root: Path, path: TreePath) -> Path:
    """The folder a path lies in, after checking that no part on the way is a link."""
    check_safe(path)
    folder = root
    for part in path.split("/")[:-1]:
        folder = folder / part
        if folder.is_symlink():
            raise UnsafePath(f"{path!r} passes the symbolic link {folder}")
    return folder


def read_stable(root: Path, path: TreePath, *, limit: int | None = None) -> Reading:
    """Read a file and tell whether it held still meanwhile.

    Args:
        root: The folder the path is relative to.
        path: The file.
        limit: Size in bytes above which it is not read.

    Raises:
        UnsafePath: The path leaves the root or passes a link.
        PermissionError: It may not be read.
    """
    target = _parent(root, path) / path.rpartition("/")[2]
    try:
        before = os.lstat(target)
        if stat.S_ISLNK(before.st_mode):
            return _read_link(target, before)
        if not stat.S_ISREG(before.st_mode):
            return Reading()
        if limit is not None and before.st_size > limit:
            return Reading(signature=signature_of(before), size=before.st_size, too_large=True)
        return _read_regular(target)
    except (FileNotFoundError, NotADirectoryError):
        return Reading()
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return Reading(unstable=True)
        raise


def _read_link(target: Path, status: os.stat_result) -> Reading:
    text = os.readlink(os.fsencode(target))
    return Reading(File(text, MODE_SYMLINK), signature_of(status), size=len(text))


def _read_regular(target: Path) -> Reading:
    descriptor = os.open(target, _READ)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return Reading()
        chunks = []
        while chunk := os.read(descriptor, _CHUNK):
            chunks.append(chunk)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    data = b"".join(chunks)
    mode = MODE_EXECUTABLE if after.st_mode & stat.S_IXUSR else MODE_FILE
    unstable = (
        signature_of(before) != signature_of(after) or len(data) != after.st_size or not _still(target, after)
    )
    return Reading(File(data, mode), signature_of(after), unstable=unstable, size=len(data))


def _still(target: Path, status: os.stat_result) -> bool:
    """Whether the name still belongs to the file that was read."""
    with suppress(FileNotFoundError):
        now = os.lstat(target)
        return (now.st_ino, now.st_dev) == (status.st_ino, status.st_dev)
    return False


def install(root: Path, path: TreePath, expected: File | None, new: File | None) -> Installed:
    """Put a new version in a file's place, only over the version that is expected there.

    The names are exchanged atomically and what came out is compared, so a writer that was faster is noticed and its bytes go
    back; nothing is ever overwritten unseen (merge.md, section 4.5).

    Args:
        root: The folder the path is relative to.
        path: The file.
        expected: What must be there; None for nothing.
        new: What shall be there; None to remove it.

    Raises:
        UnsafePath: The path leaves the root or passes a link.
    """
    folder = _parent(root, path)
    target = folder / path.rpartition("/")[2]
    found = read_stable(root, path).file
    if found != expected:
        return Installed(ok=False, found=found)
    if new is None:
        return Installed(ok=True) if expected is None else _remove(target, expected)
    _make_folders(root, folder)
    staged = _stage(target, new)
    try:
        if expected is None:
            return _place_new(staged, target)
        return _swap(staged, target, expected)
    finally:
        staged.unlink(missing_ok=True)
        syscalls.fsync_dir(folder)


def _make_folders(root: Path, folder: Path) -> None:
    missing = [part for part in (folder, *folder.parents) if part.is_relative_to(root) and not part.is_dir()]
    for part in reversed(missing):
        syscalls.mkdir(part, 0o700)
        syscalls.fsync_dir(part.parent)


def _stage(target: Path, new: File) -> Path:
    """Write the new version beside its place, with its final mode from the start."""
    staged = target.with_name(f".{target.name}.{os.getpid()}{_STAGED}")
    staged.unlink(missing_ok=True)
    if new.mode == MODE_SYMLINK:
        syscalls.symlink(new.data, staged)
        return staged
    mode = _permissions(target, new)
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(descriptor, mode)
        syscalls.write_all(descriptor, new.data, staged)
        syscalls.fsync(descriptor, staged)
    except OSError:
        staged.unlink(missing_ok=True)  # a full disk has no room for halves
        raise
    finally:
        os.close(descriptor)
    return staged


def _permissions(target: Path, new: File) -> int:
    """The mode the file has now; 0600 for a new one. Only the executable bit follows the new version (B93)."""
    mode = 0o600
    with suppress(FileNotFoundError):
        status = os.lstat(target)
        if stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode) & 0o777
    if new.mode == MODE_EXECUTABLE:
        return mode | stat.S_IXUSR | (mode & 0o044) >> 2
    return mode & ~0o111


def _place_new(staged: Path, target: Path) -> Installed:
    try:
        syscalls.link(staged, target)
    except FileExistsError:
        return Installed(ok=False, found=_read_any(target))
    return Installed(ok=True)


def _swap(staged: Path, target: Path, expected: File) -> Installed:
    ours = _read_any(staged)
    try:
        syscalls.exchange(staged, target)
    except syscalls.NoExchange:
        return _swap_by_link(staged, target, expected)
    except FileNotFoundError:
        return Installed(ok=False)
    displaced = _read_any(staged)
    if displaced == expected:
        return Installed(ok=True)
    _swap_back(staged, target, ours)
    return Installed(ok=False, found=displaced)


def _swap_back(staged: Path, target: Path, put: File | None) -> None:
    """Give a writer its place back. Where it was at it again meanwhile, its newest version ends up there.

    Args:
        staged: Holds what came out of the place.
        target: The place.
        put: What we put there last; anything else that comes out is the writer's, and newer.
    """
    while True:
        coming = _read_any(staged)
        syscalls.exchange(staged, target)
        if _read_any(staged) == put:
            return
        put = coming


def _swap_by_link(staged: Path, target: Path, expected: File) -> Installed:
    """Where names cannot be exchanged: take the file aside first, so that whatever a writer put there is in our hands."""
    taken = _take_aside(target, expected)
    if isinstance(taken, Installed):
        return taken
    placed = _place_new(staged, target)
    syscalls.unlink(taken)
    return placed


def _remove(target: Path, expected: File) -> Installed:
    taken = _take_aside(target, expected)
    if isinstance(taken, Installed):
        return taken
    syscalls.unlink(taken)
    syscalls.fsync_dir(target.parent)
    return Installed(ok=True)


def _take_aside(target: Path, expected: File) -> Path | Installed:
    """Rename a file out of its place; it goes back, and the result says so, when it is not the expected one."""
    aside = target.with_name(f".{target.name}.{os.getpid()}{_ASIDE}")
    try:
        syscalls.replace(target, aside)
    except FileNotFoundError:
        return Installed(ok=False)
    found = _read_any(aside)
    if found == expected:
        return aside
    _put_back(aside, target)
    return Installed(ok=False, found=found)


def _put_back(aside: Path, target: Path) -> None:
    """Return a file to its place, unless its writer has put a newer one there."""
    with suppress(FileExistsError):
        syscalls.link(aside, target)
    syscalls.unlink(aside)


def tidy(root: Path, path: TreePath) -> None:
    """After a crash in the middle of an install: put back what was taken aside, remove what was only staged."""
    folder = _parent(root, path)
    name = path.rpartition("/")[2]
    if not folder.is_dir():
        return
    for left in list(folder.iterdir()):
        if not left.name.startswith(f".{name}."):
            continue
        if left.name.endswith(_ASIDE):
            _put_back(left, folder / name)
        elif left.name.endswith(_STAGED):
            left.unlink(missing_ok=True)


def _read_any(target: Path) -> File | None:
    """A file of our own making or renaming, by its name alone."""
    try:
        status = os.lstat(target)
        return (_read_link(target, status) if stat.S_ISLNK(status.st_mode) else _read_regular(target)).file
    except FileNotFoundError:
        return None
