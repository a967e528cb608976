"""Merges as the product makes them, each held to the laws (merge.md, section 3)."""

from collections.abc import Iterator

from gitmem.core.merge.commits import Decision, decide
from simulate import validity
from simulate.machine import Common
from simulate.store import Commit, Tree


class Merger:
    """Decides about two commits and merges them.

    Attributes:
        merges: Merges made.
        criss_cross: How many of them had several common ancestors.
        most_bases: The most common ancestors that one had.
    """

    def __init__(self, common: Common) -> None:
        self._common = common
        self.merges = self.criss_cross = self.most_bases = 0

    def decide(self, ours: Commit, theirs: Commit) -> Decision:
        """What to do about two tips."""
        store = self._common.store
        return decide(store.graph, store.is_automatic, ours.sha, theirs.sha)

    def merge(self, ours: Commit, theirs: Commit) -> Commit:
        """The merge of two commits, with everything found wrong with it noted."""
        store = self._common.store
        bases = store.graph.common_ancestors(ours.sha, theirs.sha)
        base = store.bases.base(ours.sha, theirs.sha).tree
        tree = store.merged(base, ours.version, theirs.version)
        known = len(store)
        commit = store.add_merge(ours.sha, theirs.sha, tree)
        if len(store) == known:
            return commit
        self.merges += 1
        self.criss_cross += len(bases) > 1
        self.most_bases = max(self.most_bases, len(bases))
        if bases != store.lowest_common(ours.sha, theirs.sha):
            self._note(commit, "wrong common ancestors")
        self._note(commit, *self._broken_laws(base, ours, theirs, commit))
        self.check(commit)
        return commit

    def _broken_laws(self, base: Tree, ours: Commit, theirs: Commit, commit: Commit) -> Iterator[str]:
        """P2: the same from both sides, as a commit too. P3: nothing to do where there is nothing new."""
        tree, store, made = commit.tree, self._common.store, commit.version
        if store.merged(base, theirs.version, ours.version) != tree:
            yield "not symmetric"
        if store.add_merge(theirs.sha, ours.sha, tree) is not commit:
            yield "two commits for one merge"
        if store.merged(base, made, made) != tree:
            yield "not idempotent"
        for side in (ours.version, theirs.version):
            one, other = store.merged(side.tree, made, side), store.merged(side.tree, side, made)
            if one != tree or other != tree:
                yield "not absorbing"

    def check(self, commit: Commit) -> None:
        """P4 to P8: what the oracle and the readers of the files say."""
        self._note(commit, *self._common.oracle.check(commit))
        self._note(commit, *(f"invalid: {problem}" for problem in validity.problems(commit.tree)))

    def _note(self, commit: Commit, *found: str) -> None:
        self._common.violations.extend(f"{sentence} (in {commit.sha[:8]})" for sentence in found)
