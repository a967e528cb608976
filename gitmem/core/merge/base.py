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

    def _merged(self, wanted: tuple[str, ...]) -> T:
        """Several commits merged, in the order of their names. Not by recursion: a criss-cross may be as high as history."""
        pending = [wanted]
        while pending:
            commits = pending[-1]
            needs = self._needs(commits)
            missing = [below for below in needs if below not in self._known]
            if commits not in self._known and missing:
                pending += missing
                continue
            pending.pop()
            if commits not in self._known:
                self._known[commits] = self._made(commits, needs)
        return self._known[wanted]

    def _made(self, commits: tuple[str, ...], needs: tuple[tuple[str, ...], ...]) -> T:
        if not commits:
            return self.empty
        if not needs:
            return self.tree(commits[0])
        base, first = (self._known[below] for below in needs)
        return self.merge(base, first, self.tree(commits[-1]))

    def _needs(self, commits: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """What the merge of several commits is made from: the base of the last and the others, and the merge of the others."""
        if len(commits) <= 1:
            return ()
        *first, last = commits
        return self._common(first, last), tuple(first)

    def _common(self, first: list[str], last: str) -> tuple[str, ...]:
        """The lowest that any of some commits has in common with one more."""
        common = {sha for commit in first for sha in self.graph.common_ancestors(commit, last)}
        return tuple(
            sorted(
                sha
                for sha in common
                if not any(sha != other and self.graph.is_ancestor(sha, other) for other in common)
            )
        )
