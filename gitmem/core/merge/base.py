"""The version that a merge starts from when there are several common ancestors (merge.md, rule R3).

It is their merge by the same functions, with their base, and so on down; never one of them picked, and never nothing: either
would bring back what somebody deleted, or delete what somebody restored.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gitmem.core.merge.ancestry import Graph

T = TypeVar("T")


@dataclass
class Bases(Generic[T]):
    """Finds the base of two commits.

    Attributes:
        graph: The commit graph.
        tree: Gives a commit's tree.
        merge: Merges base, ours and theirs; writes no records of conflicts.
        empty: A tree with nothing in it.
    """

    graph: Graph
    tree: Callable[[str], T]
    merge: Callable[[T, T, T], T]
    empty: T
    _known: dict[tuple[str, ...], T] = field(default_factory=dict, repr=False)

    def base(self, ours: str, theirs: str) -> T:
        """The tree that both sides started from; an empty one for unrelated histories."""
        return self._merged(self.graph.common_ancestors(ours, theirs))

    def _merged(self, commits: tuple[str, ...]) -> T:
        """The merge of several commits, in the order of their names."""
        if not commits:
            return self.empty
        if commits not in self._known:
            *first, last = commits
            if not first:
                self._known[commits] = self.tree(last)
            else:
                self._known[commits] = self.merge(
                    self._base_of_many(first, last), self._merged(tuple(first)), self.tree(last)
                )
        return self._known[commits]

    def _base_of_many(self, first: list[str], last: str) -> T:
        """The base of a merge of several commits with one more: what any of them has in common with it."""
        common = {sha for commit in first for sha in self.graph.common_ancestors(commit, last)}
        lowest = [
            sha
            for sha in common
            if not any(sha != other and self.graph.is_ancestor(sha, other) for other in common)
        ]
        return self._merged(tuple(sorted(lowest)))
