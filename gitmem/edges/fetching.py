"""One fetch, in the process that talks to a remote: what is asked for, and whether what came may be believed.

The ref comes from the server's advertisement (merge.md, section 1: dulwich reads refs again after the pack, when they may name
what was never sent). What came is kept only if it is whole and harmless: every object it refers to is here, and no tree holds a
name that must not be written (case B96).
"""

import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dulwich.client import GitClient
from dulwich.object_store import DiskObjectStore, ObjectStoreGraphWalker
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import Pack
from dulwich.refs import Ref

from gitmem.edges import files, syscalls
from gitmem.errors import RemoteError, UnsafePath

LARGEST = 4 << 30
"""Bytes of a pack that are taken; a memory is a thousandth of that."""
_LATEST = 1 << 33
"""Unix seconds of the year 2242: a later commit is a mistake or an attack."""
_MODES = frozenset({0o100644, 0o100755, 0o100664, 0o120000, 0o040000, 0o160000})


class Fetch:
    """Fetches one ref.

    Attributes:
        sha: Where the server says the ref is; None where there is no such ref.
        objects: How many objects came.
    """

    def __init__(self, store: DiskObjectStore, ref: str, haves: tuple[str, ...]) -> None:
        self._store = store
        self._ref = ref
        self._haves = haves
        self._asked = False
        self._said: list[bytes] = []
        self.sha: str | None = None
        self.objects = 0

    @property
    def said(self) -> str:
        """What the server wrote for a person, its last lines."""
        return b"".join(self._said).decode("utf-8", "replace")

    def run(self, connect: Callable[[], tuple[GitClient, str]]) -> None:
        """Fetch.

        Args:
            connect: Gives a client and the path for its methods.

        Raises:
            RemoteError: What came is not whole, or not harmless; nothing of it was kept.
        """
        client, path = connect()
        with tempfile.TemporaryFile(dir=self._store.path) as data:
            client.fetch_pack(
                path.encode("utf-8", "surrogateescape"),
                self._wants,
                self._walker(),
                data.write,
                self._hear,
                protocol_version=0,
            )
            if self._asked and self.sha is not None:
                data.seek(0)
                self._take(data.read)
        if self.sha is not None:
            self._check_tip(ObjectID(self.sha.encode("ascii")))

    def _check_tip(self, sha: ObjectID) -> None:
        if sha not in self._store:
            raise RemoteError("protocol", f"the server did not send {self.sha}, which it advertised")
        if not isinstance(self._store[sha], Commit):
            raise RemoteError("protocol", f"{self._ref} is no commit there")

    def _hear(self, data: bytes) -> None:
        self._said = [*self._said, data][-50:]

    def _wants(self, refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        """Dulwich calls this with where the server's refs are; the answer is what to send."""
        del depth
        sha = refs.get(Ref(self._ref.encode("utf-8")))
        if sha is None:
            return []
        self.sha = sha.decode("ascii")
        self._asked = sha not in self._store
        return [sha] if self._asked else []

    def _walker(self) -> ObjectStoreGraphWalker:
        haves = [ObjectID(sha.encode("ascii")) for sha in self._haves]
        return ObjectStoreGraphWalker(haves, self._parents)

    def _parents(self, sha: ObjectID) -> list[ObjectID]:
        found = self._store[sha]
        return list(found.parents) if isinstance(found, Commit) else []

    def _take(self, read: Callable[[int], bytes]) -> None:
        pack = self._store.add_thin_pack(read, None, max_input_size=LARGEST)
        try:
            self._check(pack)
        except BaseException:
            _discard(pack)
            raise
        _seal(pack)

    def _check(self, pack: Pack) -> None:
        """Whether everything is here that what came refers to, and is of the type it has to be."""
        types = {found.id: found.type_name for found in pack.iterobjects()}
        self.objects = len(types)
        for found in pack.iterobjects():
            for sha, kind in _references(found):
                self._check_reference(found.id, sha, kind, types)

    def _check_reference(
        self, name: ObjectID, sha: ObjectID, kind: bytes, types: Mapping[ObjectID, bytes]
    ) -> None:
        if sha not in types and sha not in self._store:
            raise RemoteError("protocol", f"the server sent {name.decode()} without {sha.decode()}")
        # reading every old file again to see that it is one would cost more than the fetch
        real = types.get(sha) or (kind if kind == Blob.type_name else self._store[sha].type_name)
        if real != kind:
            raise RemoteError(
                "protocol", f"the server sent {name.decode()} with a reference of the wrong type"
            )


def _references(found: ShaFile) -> list[tuple[ObjectID, bytes]]:
    """What an object refers to, and of which type each has to be."""
    if isinstance(found, Commit):
        if not all(0 <= when < _LATEST for when in (found.commit_time, found.author_time)):
            raise RemoteError("protocol", f"the server sent {found.id.decode()} of an impossible time")
        return [(found.tree, Tree.type_name), *((parent, Commit.type_name) for parent in found.parents)]
    return _entries(found) if isinstance(found, Tree) else []


def _entries(tree: Tree) -> list[tuple[ObjectID, bytes]]:
    """The objects of a tree, once its names have been looked at."""
    names: set[str] = set()
    found: list[tuple[ObjectID, bytes]] = []
    for raw, mode, sha in tree.iteritems():
        name = os.fsdecode(raw)
        if mode not in _MODES or "/" in name or name in names:
            raise RemoteError("protocol", f"the server sent a tree with an impossible entry: {name!r}")
        names.add(name)
        try:
            files.check_safe(name)
        except UnsafePath as error:
            raise RemoteError("protocol", f"the server sent a tree that is refused: {error}") from error
        if mode != 0o160000:
            found.append((sha, Tree.type_name if mode == 0o040000 else Blob.type_name))
    return found


def _names(pack: Pack) -> list[Path]:
    base = Path(os.fsdecode(pack._basename))  # noqa: SLF001  (dulwich keeps the name to itself)
    return [base.with_name(base.name + suffix) for suffix in (".idx", ".pack")]


def _seal(pack: Pack) -> None:
    """Make a pack private and durable before anything refers to it (B93)."""
    paths: list[Any] = _names(pack)
    pack.close()
    for path in paths:
        os.chmod(path, stat.S_IRUSR)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            syscalls.fsync(descriptor, path)
        finally:
            os.close(descriptor)
    syscalls.fsync_dir(paths[0].parent)


def _discard(pack: Pack) -> None:
    paths = _names(pack)
    pack.close()
    for path in paths:
        path.unlink(missing_ok=True)
