"""One fetch, in the process that talks to a remote: what is asked for, and whether what came may be kept.

The ref comes from the server's advertisement (merge.md, section 1: dulwich reads refs again after the pack, when they may name
what was never sent). What came waits in quarantine and becomes part of the repository only if it is whole and harmless.
"""

import resource
from collections.abc import Callable, Mapping
from contextlib import suppress

from dulwich.client import GitClient
from dulwich.object_store import DiskObjectStore, ObjectStoreGraphWalker
from dulwich.objects import Commit, ObjectID
from dulwich.pack import Pack
from dulwich.refs import Ref

from gitmem.edges.arrivals import Arrivals
from gitmem.edges.quarantine import Limits, Quarantine
from gitmem.edges.trees import UNREADABLE
from gitmem.errors import RemoteError

_MEMORY = 1 << 30
"""Bytes of memory that a fetch may take: a few kilobytes can unfold to more than a machine has."""
_TOO_LARGE = "the server sends something that needs more memory than a fetch may take; nothing of it was kept"


def limit_memory() -> None:
    """Have this process run into a `MemoryError` before the machine runs out; where the system cannot, never."""
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or hard > _MEMORY:
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, hard))


class Fetch:
    """Fetches one ref.

    Args:
        store: The repository's objects.
        ref: Full name.
        haves: Commits that are here with everything they refer to; what is not here after all is left aside.
        limits: What is taken at most.

    Attributes:
        ref: Its full name.
        sha: Where the server says the ref is; None where there is no such ref.
        objects: How many objects came.
    """

    def __init__(
        self, store: DiskObjectStore, ref: str, haves: tuple[str, ...], limits: Limits | None = None
    ) -> None:
        self._store = store
        self.ref = ref
        self._limits = limits or Limits()
        self._known = frozenset(sha for sha in haves if self._parents(ObjectID(sha.encode())) is not None)
        self._place = Quarantine(store, self._limits)
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
            RemoteError: What came is not whole, not harmless, or too much; nothing of it was kept.
        """
        client, path = connect()
        try:
            with Quarantine(self._store, self._limits) as self._place:
                client.fetch_pack(
                    path.encode("utf-8", "surrogateescape"),
                    self._wants,
                    self._walker(),
                    self._place.write,
                    self._hear,
                    protocol_version=0,
                )
                if self._asked:
                    self._take()
        except MemoryError as error:
            raise RemoteError("protocol", _TOO_LARGE) from error

    def _hear(self, data: bytes) -> None:
        self._said = [*self._said, data][-50:]

    def _wants(self, refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
        """Dulwich calls this with where the server's refs are; the answer is what to send."""
        del depth
        sha = refs.get(Ref(self.ref.encode("utf-8")))
        if sha is None:
            return []
        self.sha = sha.decode("ascii")
        self._asked = not self._whole(sha)
        if not self._asked:
            return []
        self._place.open()
        return [sha]

    def _whole(self, sha: ObjectID) -> bool:
        """Whether a commit is here already with everything.

        An object alone proves nothing: what it refers to may be gone, or was never here.
        """
        if self.sha in self._known:
            return True
        if sha not in self._store:
            return False
        try:
            Arrivals(self._store, {}, self._limits).check(sha.decode("ascii"), self._known)
        except RemoteError:
            return False
        return True

    def _walker(self) -> ObjectStoreGraphWalker:
        haves = [ObjectID(sha.encode("ascii")) for sha in self._known]
        return ObjectStoreGraphWalker(haves, lambda sha: self._parents(sha) or [])

    def _parents(self, sha: ObjectID) -> list[ObjectID] | None:
        try:
            found = self._store[sha]
            return list(found.parents) if isinstance(found, Commit) else None
        except UNREADABLE:
            return None

    def _take(self) -> None:
        pack = self._place.take()
        kinds = {} if pack is None else self._kinds(pack)
        Arrivals(self._place.store, kinds, self._limits).check(str(self.sha), self._known)
        self._place.keep()
        self.objects = self._place.objects

    def _kinds(self, pack: Pack) -> dict[ObjectID, int]:
        kinds: dict[ObjectID, int] = {}
        for found in pack.iterobjects():
            if found.raw_length() > self._limits.content:
                raise RemoteError("protocol", f"the server sends an object of {found.raw_length():,} bytes")
            kinds[found.id] = found.type_num
        return kinds
