"""When what lies at a path was written, told from the commits: who wrote later wins where two versions cannot be merged.

A commit is never older than its parents (merge.md, section 3), so a version that replaced another one always counts as later:
what was replaced does not come back, on whichever machines and in whichever order things are merged (merge.md, section 2.5).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.tree import Newer
from gitmem.core.model import TreePath


@dataclass
class Writes:
    """Finds the time of writing.

    Attributes:
        graph: The commit graph.
        entry: The content of what lies at a path in a commit, as anything that can be compared; None for nothing. Without the
            executable bit: that is merged for itself, and a merge that changes it writes nothing.
        time: A commit's time, Unix seconds.
    """

    graph: Graph
    entry: Callable[[str, TreePath], object]
    time: Callable[[str], int]
    _known: dict[tuple[str, TreePath], int] = field(default_factory=dict, repr=False)

    def newer(self, ours: tuple[str, ...], theirs: tuple[str, ...]) -> Newer:
        """Which side of a merge wrote a path later.

        Args:
            ours: Our commit; of a base that is no commit, the commits that it was merged from.
            theirs: The same of the other side.
        """

        def compared(path: TreePath) -> int:
            mine, other = (max(self.written(sha, path) for sha in side) for side in (ours, theirs))
            return (mine > other) - (mine < other)

        return compared

    def written(self, sha: str, path: TreePath) -> int:
        """The time of the commit that wrote what lies at a path in a commit: the newest, where several wrote the same."""
        pending = [sha]
        while pending:
            commit = pending[-1]
            there = self.entry(commit, path)
            sources = [parent for parent in self.graph.parents(commit) if self.entry(parent, path) == there]
            missing = [parent for parent in sources if (parent, path) not in self._known]
            if missing and (commit, path) not in self._known:
                pending += missing
                continue
            pending.pop()
            times = [self._known[parent, path] for parent in sources]
            self._known.setdefault((commit, path), max(times) if times else self.time(commit))
        return self._known[sha, path]
