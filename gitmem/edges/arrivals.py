"""Whether commits that a remote sent may be believed: nothing is missing, and no tree holds what must not be written.

The cost follows what is new: commits that our refs lead to are taken as whole, and of a new commit only what its parents do not
have is looked at. Paths are those of case B96 and `files.check_safe`.
"""

import os
import stat
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree, parse_tree

from gitmem.core import reach
from gitmem.edges import files
from gitmem.edges.quarantine import Limits
from gitmem.edges.trees import UNREADABLE, damaged
from gitmem.errors import RemoteError, UnsafePath

_FOLDER, _LINK, _GITLINK = 0o040000, 0o120000, 0o160000
_MODES = frozenset({0o100644, 0o100755, 0o100664, _FOLDER, _LINK, _GITLINK})
_LATEST = 1 << 33
"""Unix seconds of the year 2242: a later commit is a mistake or an attack, and a merge takes the latest time of its parents."""
_NAME_BYTES = 20
_HINT = "Nothing of it was taken. Find out who pushed that, and take it out of the remote's history."

_Entry = tuple[bytes, int, ObjectID]
_Kind = TypeVar("_Kind", bound=ShaFile)


class Arrivals:
    """Commits of a remote with everything they refer to.

    Args:
        store: What came together with what we have.
        kinds: Type number of each object that came and whose content was read already.
        limits: What is taken at most.
    """

    def __init__(self, store: BaseObjectStore, kinds: Mapping[ObjectID, int], limits: Limits) -> None:
        self._store = store
        self._kinds = dict(kinds)
        self._limits = limits
        self._looked_at: set[ObjectID] = set()
        self._weights: dict[ObjectID, tuple[int, int]] = {}
        self._commit = lru_cache(maxsize=None)(self._read_commit)
        self._entries = lru_cache(maxsize=512)(self._read_entries)

    def check(self, tip: str, known: Collection[str]) -> None:
        """Look at a commit and all it builds on.

        Args:
            tip: The commit.
            known: Commits that are here with everything they refer to.

        Raises:
            RemoteError: Something is missing, damaged, or refused; the path is named.
        """
        for sha in reach.unsent(self._graph, [tip], known):
            _, parents, tree = self._commit(sha)
            self._weigh(tree, 0)
            self._look(tree, [self._commit(parent)[2] for parent in parents], "")

    def _graph(self, sha: str) -> tuple[int, tuple[str, ...]]:
        time, parents, _ = self._commit(sha)
        return time, parents

    def _read_commit(self, name: str) -> tuple[int, tuple[str, ...], ObjectID]:
        found = self._read(ObjectID(name.encode("ascii")), Commit, "")
        try:
            time, parents, tree = (
                found.commit_time,
                tuple(p.decode("ascii") for p in found.parents),
                found.tree,
            )
        except UNREADABLE as error:
            raise _refused(f"a commit that cannot be read: {name[:10]} ({error})") from error
        if not all(0 <= when < _LATEST for when in (time, found.author_time)):
            raise _refused(f"a commit with an impossible time: {name[:10]}")
        return time, parents, tree

    def _weigh(self, sha: ObjectID, depth: int) -> tuple[int, int]:
        """How many files there are in a folder, and how many folders inside each other.

        A few objects that refer to the same ones again and again can stand for more files than any disk holds.
        """
        if sha not in self._weights:
            count, deepest = 0, 0
            for _, mode, child in self._entries(sha):
                below = (1, 0)
                if mode == _FOLDER and depth <= self._limits.depth:
                    below = self._weigh(child, depth + 1)
                count, deepest = count + below[0], max(deepest, below[1])
            self._weights[sha] = (count, deepest + 1)
        count, deepest = self._weights[sha]
        if count > self._limits.files:
            raise _refused(f"a folder of {count:,} files")
        if depth + deepest > self._limits.depth:
            raise _refused(f"more than {self._limits.depth} folders inside each other")
        return count, deepest

    def _look(self, sha: ObjectID, before: list[ObjectID], path: str) -> None:
        """Look at what a folder has and the same folder of the parents has not.

        Args:
            sha: The folder's tree.
            before: The trees at this path in the commit's parents.
            path: Of the folder, with a slash at its end; empty for the root.
        """
        if sha in self._looked_at or sha in before:
            return
        entries = self._entries(sha)
        _check_names(path, entries)
        known = {entry for tree in before for entry in self._before(tree)}
        folders = {(name, child) for name, mode, child in known if mode == _FOLDER}
        for name, mode, child in entries:
            below = path + os.fsdecode(name)
            if (name, mode, child) in known or mode == _GITLINK:
                continue
            if mode == _FOLDER:
                self._look(child, [there for same, there in folders if same == name], below + "/")
            elif self._kind(child, below) != Blob.type_num:
                raise _refused(f"{below!r} as a file, which is none")
        self._looked_at.add(sha)

    def _before(self, tree: ObjectID) -> tuple[_Entry, ...]:
        try:
            return self._entries(tree)
        except RemoteError as error:  # those that came were looked at before: it is ours that is damaged
            raise damaged(tree, error) from error

    def _kind(self, sha: ObjectID, path: str) -> int:
        if sha not in self._kinds:
            self._kinds[sha] = self._read(sha, Blob, path).type_num
        return self._kinds[sha]

    def _read_entries(self, sha: ObjectID) -> tuple[_Entry, ...]:
        found = self._read(sha, Tree, "")
        try:  # as they are written: dulwich's own trees let the last of two equal names win
            raw = found.as_raw_string()
            return tuple((name, mode, ObjectID(child)) for name, mode, child in parse_tree(raw, _NAME_BYTES))
        except UNREADABLE as error:
            raise _refused(f"a folder that cannot be read: {sha.decode()[:10]} ({error})") from error

    def _read(self, sha: ObjectID, kind: type[_Kind], path: str) -> _Kind:
        what = f"{sha.decode()[:10]}" + (f" ({path!r})" if path else "")
        try:
            found = self._store[sha]
        except KeyError:
            raise RemoteError(
                "protocol", f"the server's answer is incomplete: {kind.__name__.lower()} {what} is missing"
            ) from None
        except UNREADABLE as error:
            raise RemoteError(
                "protocol", f"{kind.__name__.lower()} {what} cannot be read: {error}"
            ) from error
        if not isinstance(found, kind):
            raise _refused(f"{what} as a {kind.__name__.lower()}, which it is not")
        return found


def _check_names(path: str, entries: Iterable[_Entry]) -> None:
    """Refuse names that would be written somewhere else, or that say two things at once."""
    names: set[bytes] = set()
    links: set[str] = set()
    folders: set[str] = set()
    for raw, mode, _ in entries:
        name = os.fsdecode(raw)
        if mode not in _MODES:
            raise _refused(f"{path + name!r} with the impossible mode {mode:o}")
        if raw in names:
            raise _refused(f"{path + name!r} twice in one folder")
        if "/" in name:
            raise _refused(f"a name with a slash in it: {path + name!r}")
        try:
            files.check_safe(name)
        except UnsafePath as error:
            raise _refused(f"a path that is never written: {path + name!r} ({error})") from error
        names.add(raw)
        if stat.S_ISLNK(mode):
            links.add(_folded(name))
        elif mode == _FOLDER:
            folders.add(_folded(name))
    if both := links & folders:
        raise _refused(f"{path + min(both)!r} as a link and as a folder; they are one on some systems")


def _folded(name: str) -> str:
    """As file systems compare names that tell neither case nor composition apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _refused(what: str) -> RemoteError:
    return RemoteError("protocol", f"the server sent {what}", _HINT)
