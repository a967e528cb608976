"""The commits of all machines: a commit graph in memory, with the product's functions on top."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.base import Bases
from gitmem.core.merge.commits import is_automatic, merge_commit
from gitmem.core.merge.tree import applied, merge_tree
from gitmem.core.merge.writes import Writes
from gitmem.core.model import MODE_SYMLINK, CommitInfo, File, PathClass, TreePath
from gitmem.core.paths import classify_path

Tree = Mapping[TreePath, File]

QUEUE = ("memory/history.jsonl", "memory/.cursor", "memory/.dream_cursor")


@lru_cache(maxsize=1 << 14)
def classify(path: TreePath) -> PathClass:
    """What a path means."""
    return classify_path(path)


@dataclass(frozen=True, slots=True)
class Version:
    """A tree, and the commits that it was merged from: one for that of a commit."""

    tree: Tree
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit.

    Attributes:
        info: Name, parents, author, time and message.
        tree: All files.
        automatic: Whether it is a merge that any machine makes again.
        behind: A bit for each commit that can be reached, its own included; a commit's bit is above those of its parents.
    """

    info: CommitInfo
    tree: Tree
    automatic: bool
    behind: int

    @property
    def sha(self) -> str:
        """Its name."""
        return self.info.sha

    @property
    def version(self) -> Version:
        """Its tree, as a side of a merge."""
        return Version(self.tree, (self.sha,))

    @property
    def bit(self) -> int:
        """Its own bit."""
        return 1 << (self.behind.bit_length() - 1)


class Store:
    """All commits, by name and in the order in which they were made."""

    def __init__(self) -> None:
        self._found: dict[str, Commit] = {}
        self.order: list[Commit] = []
        self.graph = Graph(lambda sha: self[sha].info.parents)
        self.writes = Writes(self.graph, self._content, lambda sha: self[sha].info.time)
        self.bases: Bases[Version] = Bases(
            self.graph, lambda sha: Version(self[sha].tree, (sha,)), self.merged_base, Version({}, ())
        )

    def _content(self, sha: str, path: TreePath) -> tuple[bytes, bool] | None:
        file = self[sha].tree.get(path)
        return None if file is None else (file.data, file.mode == MODE_SYMLINK)

    def __getitem__(self, sha: str) -> Commit:
        return self._found[sha]

    def __len__(self) -> int:
        return len(self.order)

    def add(self, parents: tuple[str, ...], tree: Tree, time: int, who: str, message: bytes) -> Commit:
        """Make a commit; the same one again where it is there already."""
        sha = _name(parents, tree, time, who, message)
        if sha not in self._found:
            info = CommitInfo(sha, parents, who, time, message.decode())
            behind = 1 << len(self.order)
            for parent in parents:
                behind |= self[parent].behind
            automatic = is_automatic(info, [self[parent].info.time for parent in parents])
            self._found[sha] = Commit(info, tree, automatic, behind)
            self.order.append(self._found[sha])
        return self._found[sha]

    def add_merge(self, ours: str, theirs: str, tree: Tree) -> Commit:
        """Make the merge commit of two commits."""
        made = merge_commit(*((sha, self[sha].info.time) for sha in (ours, theirs)))
        return self.add(made.parents, tree, made.time, made.who, made.message)

    def merged(self, base: Tree, ours: Version, theirs: Version, *, record: bool = True) -> Tree:
        """Three trees merged; like the product, only what is not the same in all of them is looked at."""
        trees = (base, ours.tree, theirs.tree)
        found = {path for tree in trees for path in tree}
        paths = {path for path in found if not base.get(path) == ours.tree.get(path) == theirs.tree.get(path)}
        if not paths.isdisjoint(QUEUE):
            paths.update(QUEUE)
        parts = [{path: tree[path] for path in paths if path in tree} for tree in trees]
        newer = self.writes.newer(ours.commits, theirs.commits)
        return applied(ours.tree, merge_tree(classify, *parts, newer=newer, record=record).files)

    def merged_base(self, base: Version, ours: Version, theirs: Version) -> Version:
        """Two common ancestors merged."""
        tree = self.merged(base.tree, ours, theirs, record=False)
        return Version(tree, ours.commits + theirs.commits)

    def is_automatic(self, sha: str) -> bool:
        """Whether a commit is a merge that any machine makes again."""
        return self[sha].automatic

    def lowest_common(self, ours: str, theirs: str) -> tuple[str, ...]:
        """The lowest common ancestors by definition, to check those that the product finds."""
        common = self[ours].behind & self[theirs].behind
        found = []
        while common:
            commit = self.order[common.bit_length() - 1]
            found.append(commit.sha)
            common &= ~commit.behind
        return tuple(sorted(found))


def _name(parents: tuple[str, ...], tree: Tree, time: int, who: str, message: bytes) -> str:
    entries = "\n".join(f"{path} {file.mode:o} {_digest(file.data)}" for path, file in sorted(tree.items()))
    text = f"{parents}\n{time}\n{who}\n{message!r}\n{entries}"
    return hashlib.sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


@lru_cache(maxsize=1 << 14)
def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
