"""What two commits have in common, told from the commit graph alone.

Clocks of several machines disagree, so dates decide nothing here (merge.md, section 1, clock skew). A generation number (1 for
a root, else one more than the greatest among the parents') orders the search: an ancestor's is always smaller.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Parents: TypeAlias = Callable[[str], tuple[str, ...]]

_OURS, _THEIRS, _BELOW = 1, 2, 4
_BOTH = _OURS | _THEIRS


@dataclass
class Graph:
    """A commit graph with its generation numbers, which are found once and kept.

    Attributes:
        parents: Gives a commit's parents.
        numbers: Generation numbers known so far.
    """

    parents: Parents
    numbers: dict[str, int] = field(default_factory=dict)

    def generation(self, sha: str) -> int:
        """A commit's generation number."""
        pending = [sha]
        while pending:
            commit = pending[-1]
            missing = [parent for parent in self.parents(commit) if parent not in self.numbers]
            if commit in self.numbers or not missing:
                self.numbers.setdefault(
                    commit, 1 + max((self.numbers[parent] for parent in self.parents(commit)), default=0)
                )
                pending.pop()
            else:
                pending += missing
        return self.numbers[sha]

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is `descendant` or can be reached from it by parents."""
        floor = self.generation(ancestor)
        pending, seen = [descendant], {descendant}
        while pending:
            sha = pending.pop()
            if sha == ancestor:
                return True
            if self.generation(sha) > floor:
                fresh = [parent for parent in self.parents(sha) if parent not in seen]
                seen.update(fresh)
                pending += fresh
        return False

    def common_ancestors(self, ours: str, theirs: str) -> tuple[str, ...]:
        """The lowest common ancestors: commits reachable from both, and from no other such commit; sorted by name.

        Returns:
            Several for a criss-cross history; none where the histories are unrelated. The search ends as soon as what is left
            lies below them.
        """
        walk = _Walk(self)
        walk.paint(ours, _OURS)
        walk.paint(theirs, _THEIRS)
        found: list[str] = []
        while walk.waiting[_BOTH] or (walk.waiting[_OURS] and walk.waiting[_THEIRS]):
            sha, colours = walk.take()
            if colours == _BOTH:
                found.append(sha)
                colours |= _BELOW
            for parent in self.parents(sha):
                walk.paint(parent, colours)
        return tuple(sorted(found))

    def only_in(self, tip: str, without: str) -> set[str]:
        """Commits reachable from `tip` and not from `without`, however far back they branched off."""
        walk = _Walk(self)
        walk.paint(tip, _OURS)
        walk.paint(without, _THEIRS)
        found: set[str] = set()
        while walk.waiting[_OURS]:
            sha, colours = walk.take()
            if colours == _OURS:
                found.add(sha)
            for parent in self.parents(sha):
                walk.paint(parent, colours)
        return found


class _Walk:
    """Colours that spread from tips towards the roots, greatest generation first: who is reached has all its colours.

    Attributes:
        waiting: How many commits that are still to be reached have exactly these colours.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._colours: dict[str, int] = {}
        self._queue: list[tuple[int, str]] = []
        self.waiting: Counter[int] = Counter()

    def paint(self, sha: str, colours: int) -> None:
        """Add colours to a commit that was not reached yet."""
        before = self._colours.get(sha)
        if before is None:
            heapq.heappush(self._queue, (-self._graph.generation(sha), sha))
        else:
            self.waiting[before] -= 1
        self._colours[sha] = colours | (before or 0)
        self.waiting[self._colours[sha]] += 1

    def take(self) -> tuple[str, int]:
        """The next commit, and its colours."""
        sha = heapq.heappop(self._queue)[1]
        colours = self._colours[sha]
        self.waiting[colours] -= 1
        return sha, colours
