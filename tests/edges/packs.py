"""Packs as servers send them, honest ones and others, and a fetch that meets them."""

import struct
import subprocess
from hashlib import sha1
from pathlib import Path
from typing import Any
from zlib import compress

import pytest
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import write_pack_objects

from gitmem.edges.fetching import Fetch
from gitmem.edges.quarantine import Limits
from gitmem.errors import RemoteError
from tests.edges.repos import MAIN

FILE, LINK, FOLDER = 0o100644, 0o120000, 0o040000
Entry = tuple[bytes, int, ShaFile]


def objects_of(git_dir: Path) -> set[str]:
    """Everything below the folder of objects, whatever it is."""
    root = git_dir / "objects"
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def everything_is_here(git_dir: Path, sha: str) -> bool:
    words = ["git", "-c", "safe.directory=*", "rev-list", "--objects", sha]
    return subprocess.run(words, cwd=git_dir, capture_output=True, check=False).returncode == 0


class Server:
    """In the place of a client: says where the branch is, and answers with a pack of these objects."""

    def __init__(self, tip: ObjectID, pack: bytes) -> None:
        self._tip, self._pack = tip, pack
        self.wanted: list[ObjectID] = []

    def fetch_pack(self, *arguments: Any, **_: Any) -> None:
        """As dulwich's: path, what is wanted, what is had, where the pack goes, where words go."""
        _path, wants, _walker, write, _hear = arguments
        self.wanted = wants({MAIN.encode(): self._tip}, None)
        if self.wanted:
            for start in range(0, len(self._pack), 1000):
                write(self._pack[start : start + 1000])


def pack_of(*objects: ShaFile) -> bytes:
    data = bytearray()
    write_pack_objects(data.extend, list(dict.fromkeys(objects)), object_format=Blob().object_format)
    return bytes(data)


def raw_tree(*entries: Entry) -> Tree:
    """A tree of these entries as they stand, which no honest program writes."""
    raw = b"".join(
        b"%o %s\0" % (mode, name) + bytes.fromhex(found.id.decode()) for name, mode, found in entries
    )
    tree = ShaFile.from_raw_string(Tree.type_num, raw)
    assert isinstance(tree, Tree)
    return tree


def commit_of(tree: ShaFile, *parents: ShaFile, when: int = 1_767_600_000) -> Commit:
    made = Commit()
    made.tree, made.parents = tree.id, [parent.id for parent in parents]
    made.author = made.committer = b"stranger <s@example.invalid>"
    made.author_time = made.commit_time = when
    made.author_timezone = made.commit_timezone = 0
    made.message = b"x\n"
    return made


def blob(data: bytes = b"x\n") -> Blob:
    return Blob.from_string(data)


def take(
    git_dir: Path, tip: ShaFile, pack: bytes, haves: tuple[str, ...] = (), limits: Limits | None = None
) -> Fetch:
    """Fetch from such a server, in this process."""
    store = DiskObjectStore(str(git_dir / "objects"))
    try:
        found = Fetch(store, MAIN, haves, limits)
        found.run(lambda: (Server(tip.id, pack), ""))  # type: ignore[arg-type, return-value]
        return found
    finally:
        store.close()


def refused(
    git_dir: Path, tip: ShaFile, pack: bytes, haves: tuple[str, ...] = (), limits: Limits | None = None
) -> str:
    """What is said of an answer that must be refused; nothing of it may stay."""
    before = objects_of(git_dir)
    with pytest.raises(RemoteError) as caught:
        take(git_dir, tip, pack, haves, limits)
    assert objects_of(git_dir) == before
    assert caught.value.state == "protocol"
    return str(caught.value)


def header(kind: int, size: int) -> bytes:
    found = bytearray()
    byte, size = (kind << 4) | (size & 15), size >> 4
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    return bytes([*found, byte])


def thin(*records: bytes) -> bytes:
    body = b"PACK" + struct.pack(">II", 2, len(records)) + b"".join(records)
    return body + sha1(body).digest()


def whole_record(found: ShaFile) -> bytes:
    return header(found.type_num, found.raw_length()) + compress(found.as_raw_string())


def appended(base: ShaFile, more: bytes) -> bytes:
    """A delta record: the base, and some bytes."""
    size = base.raw_length()
    assert size < 128
    assert len(more) < 100
    delta = bytes([size, size + len(more), 0x90, size, len(more)]) + more
    return header(7, len(delta)) + bytes.fromhex(base.id.decode()) + compress(delta)
