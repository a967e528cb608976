"""The git repository: read commits and files, make a commit of a snapshot, move a branch.

Only dulwich's object and ref stores are used, never its porcelain, index or working-tree code: those scan everything, run hooks
and filters, and commit without compare-and-swap (spec: merge.md, section 1).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Self

from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile

from gitmem.core import message as messages
from gitmem.core.model import CommitInfo, File, TreePath
from gitmem.edges import gitdir, trees
from gitmem.edges.gitdir import GitDir
from gitmem.edges.objects import LooseWriter, ObjectWriter
from gitmem.edges.refs import Reflog, Refs
from gitmem.edges.trees import Entry, EntryChange
from gitmem.errors import NotFound, RepositoryRefused

_GC_TURNS = 3


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who made a commit and when.

    Attributes:
        author: `Name <mail>` of the agent or person whose change it is.
        committer: `Name <mail>` of gitmem on this host.
        time: Unix seconds; a commit is never older than its parents (merge.md, section 1: clock skew).
        timezone: Seconds east of UTC.
    """

    author: str
    committer: str
    time: int
    timezone: int = 0


class Repository:
    """One repository, open for reading and committing. Use it as a context manager."""

    def __init__(self, git: GitDir, writer: ObjectWriter | None = None) -> None:
        gitdir.check_format(git)
        self.git = git
        self.refs = Refs(git)
        self.store = DiskObjectStore(str(git.common / "objects"))
        self._writer = writer or LooseWriter(self.store, git.common / "objects")
        self._info = lru_cache(maxsize=4096)(self._read_info)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.close()

    def branch(self) -> str | None:
        """Full name of the branch we commit to; None while HEAD is detached."""
        return gitdir.head_branch(self.git)

    def head(self) -> str | None:
        """The newest commit of the branch; None before the first one (or while HEAD is detached)."""
        branch = self.branch()
        return None if branch is None else self.refs.read(branch)

    def info(self, sha: str) -> CommitInfo:
        """A commit's facts.

        Raises:
            NotFound: There is no such commit.
            RepositoryRefused: It is damaged.
        """
        return self._info(sha)

    def _read_info(self, sha: str) -> CommitInfo:
        commit = self._commit(sha)
        text = commit.message.decode("utf-8", "replace")
        kind, trailers = messages.parse(commit.message)
        return CommitInfo(
            sha=sha,
            parents=tuple(parent.decode("ascii") for parent in commit.parents),
            author=commit.author.decode("utf-8", "replace"),
            time=commit.commit_time,
            message=text,
            kind=kind,
            trailers=trailers,
        )

    def _commit(self, sha: str) -> Commit:
        found = self._object(sha)
        if not isinstance(found, Commit):
            raise NotFound(f"{sha} is not a commit")
        return found

    def _object(self, sha: str) -> ShaFile:
        name = ObjectID(sha.encode("ascii"))
        try:
            return self.store[name]
        except trees.UNREADABLE:
            pass
        try:  # another program may have repacked or pruned: look at the disk again before giving up (B35)
            self.recheck()
            self.store.close()
            return self.store[name]
        except trees.UNREADABLE as error:
            raise trees.damaged(sha, error) from error

    def root(self, commit: str | None) -> ObjectID | None:
        """The tree of a commit; None for no commit."""
        return None if commit is None else self._commit(commit).tree

    def files(self, commit: str | None) -> dict[TreePath, Entry]:
        """Every file of a commit's tree."""
        return trees.flatten(self.store, self.root(commit))

    def entry(self, commit: str | None, path: TreePath) -> Entry | None:
        """The file at `path` in a commit; None where there is none."""
        root = self.root(commit)
        return None if root is None else trees.entry_at(self.store, root, path)

    def read(self, entry: Entry) -> File:
        """The bytes and mode of a file."""
        found = self._object(entry.sha)
        if not isinstance(found, Blob):
            raise RepositoryRefused(f"{entry.sha} is not a blob")
        return File(found.data, entry.mode)

    def file(self, commit: str | None, path: TreePath) -> File | None:
        """The file at `path` in a commit, read; None where there is none."""
        entry = self.entry(commit, path)
        return None if entry is None else self.read(entry)

    def changes(self, sha: str) -> list[EntryChange]:
        """What a commit changed against its first parent, in path order."""
        parents = self.info(sha).parents
        return list(trees.diff(self.store, self.root(parents[0]) if parents else None, self.root(sha)))

    def history(self, start: str | None) -> Iterator[CommitInfo]:
        """Commits from `start` back, newest first, each once; a merge's parents by time."""
        pending = [] if start is None else [self.info(start)]
        seen = set() if start is None else {start}
        while pending:
            pending.sort(key=lambda commit: commit.time)
            commit = pending.pop()
            yield commit
            for parent in commit.parents:
                if parent not in seen:
                    seen.add(parent)
                    pending.append(self.info(parent))

    def write(
        self, parents: tuple[str, ...], files: Mapping[TreePath, File | None], text: bytes, stamp: Stamp
    ) -> str:
        """Store a commit: the first parent's tree with `files` applied. No ref moves; durable when this returns.

        Args:
            parents: Commit names; empty for a first commit.
            files: New state of each touched path, None for removal.
            text: The whole commit message.
            stamp: Who and when.

        Returns:
            The new commit's name.
        """
        blobs: list[ShaFile] = []
        entries: dict[TreePath, Entry | None] = {}
        for path, file in files.items():
            if file is None:
                entries[path] = None
                continue
            blob = Blob.from_string(file.data)
            blobs.append(blob)
            entries[path] = Entry(file.mode, blob.id.decode("ascii"))
        root, written = trees.patch(self.store, self.root(parents[0]) if parents else None, entries)
        if root is None:
            root, empty = trees.empty_tree()
            written.append(empty)
        commit = self._compose(parents, root, text, stamp)
        self._writer.write([*blobs, *written, commit])
        return commit.id.decode("ascii")

    def keep(self, file: File) -> Entry:
        """Store a file's bytes without a commit, durably: something refers to them that is no ref (a view)."""
        blob = Blob.from_string(file.data)
        self._writer.write([blob])
        return Entry(file.mode, blob.id.decode("ascii"))

    def _compose(self, parents: tuple[str, ...], root: ObjectID, text: bytes, stamp: Stamp) -> Commit:
        commit = Commit()
        commit.tree = root
        commit.parents = [ObjectID(parent.encode("ascii")) for parent in parents]
        commit.author = stamp.author.encode("utf-8", "replace")
        commit.committer = stamp.committer.encode("utf-8", "replace")
        commit.author_time = commit.commit_time = max([stamp.time, *(self.info(p).time for p in parents)])
        commit.author_timezone = commit.commit_timezone = stamp.timezone
        commit.encoding = None
        commit.message = text
        return commit

    def move(self, ref: str, old: str | None, new: str, stamp: Stamp) -> bool:
        """Move a ref by compare-and-swap; False when somebody else moved it first."""
        reason = "commit: " + self.info(new).subject
        self._outlast_gc()
        moved = self.refs.move(ref, old, new, Reflog(stamp.committer, stamp.time, reason))
        self.recheck()
        return moved

    def _outlast_gc(self) -> None:
        """Have the new objects there, and nobody about to delete them, at the moment when a ref names them."""
        for _ in range(_GC_TURNS):
            gitdir.await_gc(self.git)
            self.recheck()
            if not gitdir.gc_runs(self.git):
                return

    def recheck(self) -> None:
        """Make sure that new objects are still there although somebody else cleans up (B35)."""
        self._writer.recheck()
