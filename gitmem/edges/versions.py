"""A few files as many commits have them, for walks along the whole history: what commits share is read once."""

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache

from dulwich.objects import ObjectID

from gitmem.core.model import TreePath
from gitmem.edges import trees
from gitmem.edges.repo import Repository
from gitmem.edges.trees import Entry

_MODE_TREE = 0o040000
_MODE_GITLINK = 0o160000


class Versions:
    """Which versions of some files a commit has.

    Attributes:
        at: Those of the files that a commit (its name) has, by path.
    """

    def __init__(self, repo: Repository, paths: Iterable[TreePath]) -> None:
        self._repo = repo
        self._paths = tuple(paths)
        self.at = lru_cache(maxsize=64)(self._at)
        self._folder = lru_cache(maxsize=64)(self._read_folder)

    def _at(self, sha: str) -> Mapping[TreePath, Entry]:
        root = self._repo.root(sha)
        return {} if root is None else self._folder(root, "")

    def _read_folder(self, sha: ObjectID, prefix: TreePath) -> Mapping[TreePath, Entry]:
        """Those of the files that a tree has, where `prefix` tells how deep it lies."""
        tree = trees.read_tree(self._repo.store, sha)
        found: dict[TreePath, Entry] = {}
        heads = {path[len(prefix) :].partition("/")[0] for path in self._paths if path.startswith(prefix)}
        for head in heads:
            name = os.fsencode(head)
            if name not in tree:
                continue
            mode, child = tree[name]
            if mode == _MODE_TREE:
                found |= self._folder(child, f"{prefix}{head}/")
            elif mode != _MODE_GITLINK and prefix + head in self._paths:
                found[prefix + head] = Entry(mode, child.decode("ascii"))
        return found
