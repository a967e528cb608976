"""What two commits have in common, told from the commit graph alone.

Clocks of several machines disagree, so dates decide nothing here (merge.md, section 1, clock skew). A generation number (1 for
a root, else one more than the greatest among the parents') orders the search: an ancestor's is always smaller.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

Parents: TypeAlias = Callable[[str], tuple[str, ...]]

_OURS, _THEIRS, _BELOW = 1, 2, 4


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
        return any(sha == ancestor for sha in self._down([descendant], floor))

    def _down(self, tips: Iterable[str], floor: int) -> Iterable[str]:
        """Everything reachable whose generation is not below a floor."""
        pending, seen = list(tips), set(tips)
        while pending:
            sha = pending.pop()
            if self.generation(sha) < floor:
                continue
            yield sha
            fresh = [parent for parent in self.parents(sha) if parent not in seen]
            seen.update(fresh)
            pending += fresh

    def common_ancestors(self, ours: str, theirs: str) -> tuple[str, ...]:
        """The lowest common ancestors: commits reachable from both, and from no other such commit; sorted by name.

        Returns:
            Several for a criss-cross history; none where the histories are unrelated. The search ends as soon as what is left
            lies below them.
        """
        flags = {ours: _OURS}
        flags[theirs] = flags.get(theirs, 0) | _THEIRS
        queue = [(-self.generation(sha), sha) for sha in flags]
        heapq.heapify(queue)
        found: list[str] = []
        while queue and any(not flags[sha] & _BELOW for _, sha in queue):
            sha = heapq.heappop(queue)[1]
            mark = flags[sha]
            if mark & (_OURS | _THEIRS) == _OURS | _THEIRS and not mark & _BELOW:
                found.append(sha)
                mark |= _BELOW
            for parent in self.parents(sha):
                if parent not in flags:
                    flags[parent] = 0
                    heapq.heappush(queue, (-self.generation(parent), parent))
                flags[parent] |= mark
        return tuple(sorted(found))

    def only_in(self, tip: str, without: str) -> set[str]:
        """Commits reachable from `tip` and not from `without`."""
        floor = min((self.generation(sha) for sha in self.common_ancestors(tip, without)), default=0)
        return set(self._down([tip], floor)) - set(self._down([without], floor))
