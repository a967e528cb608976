"""The index file itself: read whole, written whole, and swapped in within microseconds.

A program of git that finds `index.lock` taken fails at once, so ours is held just long enough to see that nobody changed the
index meanwhile and to put the new one in its place: the lock is a hard link to a file that is ready (B54).
"""

import hashlib
import io
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from dulwich.index import ConflictedIndexEntry, IndexEntry, read_index_dict_with_version, write_index_dict

from gitmem.edges import durable, process, syscalls
from gitmem.edges.gitdir import GitDir
from gitmem.errors import RepositoryBusy

_HASH = 20
_NO_HASH = bytes(_HASH)
"""What `index.skipHash` leaves in the place of the checksum."""
_SCRATCH = "index-lock-"
_Stat = tuple[int, int, int]


@dataclass
class Contents:
    """What an index holds.

    Attributes:
        entries: By path; change them and hand the whole to `replace`.
        version: Of the format.
        whole: Whether all of it was understood; a split or sparse index is only partly, and never written.
        hashed: Whether it ends in a checksum.
        mode: The file's permissions.
        times: Access and modification time in nanoseconds. The new file keeps them, since git trusts entries by
            whether they are older than the index; None where there is no index yet.
        stat: Tells the file that was read from one that took its place.
    """

    entries: dict[bytes, IndexEntry | ConflictedIndexEntry] = field(default_factory=dict)
    version: int = 2
    whole: bool = True
    hashed: bool = True
    mode: int = 0o600
    times: tuple[int, int] | None = None
    stat: _Stat | None = None


def read(git: GitDir) -> Contents:
    """Read the index; an absent one is empty.

    Raises:
        ValueError: It is damaged.
    """
    path = git.control / "index"
    try:
        with path.open("rb") as file:
            found, data = os.fstat(file.fileno()), file.read()
    except FileNotFoundError:
        return Contents()
    body, checksum = data[:-_HASH], data[-_HASH:]
    hashed = checksum != _NO_HASH
    if hashed and hashlib.sha1(body, usedforsecurity=False).digest() != checksum:
        raise ValueError(f"{path} is damaged: its checksum is wrong")
    stream = io.BytesIO(data)
    entries, version, _ = read_index_dict_with_version(stream)
    whole = stream.tell() == len(body)
    times = (found.st_atime_ns, found.st_mtime_ns)
    return Contents(entries, version, whole, hashed, found.st_mode & 0o777, times, _stat(found))


def replace(git: GitDir, contents: Contents) -> None:
    """Put a changed index in the place of the one that was read. Its caches (extensions) are left out; git makes them anew.

    Raises:
        RepositoryBusy: Somebody holds its lock, or changed it meanwhile.
        ValueError: It is of a kind that we do not write.
    """
    path = git.control / "index"
    if not contents.whole:
        raise ValueError(f"{path} is split or sparse")
    lock = path.with_name("index.lock")
    ready = git.state / f"{_SCRATCH}{os.getpid()}-{threading.get_ident()}"
    durable.write_new(ready, _encode(contents), contents.mode)
    try:
        if contents.times is not None:
            os.utime(ready, ns=contents.times)
        syscalls.link(ready, lock)
        if _present(path) != contents.stat:
            syscalls.unlink(lock)
            raise RepositoryBusy(f"{path} was changed meanwhile")
        syscalls.replace(lock, path)
    except FileExistsError:
        raise RepositoryBusy(f"{lock} is held by another program") from None
    finally:
        ready.unlink(missing_ok=True)


def clear_own_lock(git: GitDir) -> None:
    """Remove the lock that a killed process of ours left behind. Call it under the workspace's write lock."""
    lock = git.control / "index.lock"
    for ready in git.state.glob(f"{_SCRATCH}*"):
        if process.alive(int(ready.name.split("-")[2])):
            continue
        if lock.exists() and lock.samefile(ready):
            lock.unlink()
        ready.unlink(missing_ok=True)


def _encode(contents: Contents) -> bytes:
    stream = io.BytesIO()
    write_index_dict(stream, contents.entries, version=contents.version)
    body = stream.getvalue()
    return body + (hashlib.sha1(body, usedforsecurity=False).digest() if contents.hashed else _NO_HASH)


def _present(path: Path) -> _Stat | None:
    try:
        return _stat(path.stat())
    except FileNotFoundError:
        return None


def stat(git: GitDir) -> _Stat | None:
    """Tells one state of the index from another without reading it; None where there is none."""
    return _present(git.control / "index")


def _stat(found: os.stat_result) -> _Stat:
    return found.st_ino, found.st_mtime_ns, found.st_size
