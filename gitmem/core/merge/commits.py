"""Merge commits that two machines make alike, and when one is made at all (merge.md, section 3).

Nothing in such a commit names a machine, a person or the present, so machines that merge the same two commits at the same time
make the same commit, and have nothing to merge afterwards.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from gitmem.core.merge.ancestry import Graph
from gitmem.core.model import CommitInfo

VERSION = 1
"""Of the rules that merges follow. Who meets a greater one has to be upgraded before merging."""
WHO = "gitmem <merge@gitmem>"
_TEXT = f"""\
merge: two machines

Gitmem-Kind: merge
Gitmem-Merge: v{VERSION}
"""
_VERSION = re.compile(r"^Gitmem-Merge: v(\d{1,6})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MergeCommit:
    """A merge commit without its tree.

    Attributes:
        parents: Sorted by name.
        time: Unix seconds, in UTC: that of the younger parent.
        who: Author and committer.
        message: The whole message.
    """

    parents: tuple[str, str]
    time: int
    who: str = WHO
    message: bytes = _TEXT.encode()


def merge_commit(ours: tuple[str, int], theirs: tuple[str, int]) -> MergeCommit:
    """The merge of two commits, each given by name and time; the same for ours and theirs exchanged."""
    first, second = sorted((ours[0], theirs[0]))
    return MergeCommit((first, second), max(ours[1], theirs[1]))


def rules_version(message: str) -> int | None:
    """The version of the rules that made an automatic merge; None for any other commit."""
    found = _VERSION.search(message) if message.startswith("merge: two machines\n") else None
    return int(found[1]) if found else None


def is_automatic(commit: CommitInfo, times: Iterable[int]) -> bool:
    """Whether a commit is a merge that any machine makes again, so that nothing is lost when it is dropped.

    Its words alone do not tell: a person who amends one keeps them, and may have put work into it. The time tells.

    Args:
        commit: The commit.
        times: The times of its parents.
    """
    return (
        len(commit.parents) == 2
        and list(commit.parents) == sorted(commit.parents)
        and commit.author == WHO
        and commit.time == max(times, default=None)
        and rules_version(commit.message) is not None
    )


class Decision(Enum):
    """What to do about two tips."""

    SAME = "both have the same"
    PUSH = "they have nothing new"
    FORWARD = "we have nothing new"
    ADOPT = "ours are automatic merges only: theirs will do"
    KEEP = "both are automatic merges only: ours will do, and they adopt it"
    """Only between two machines. A remote adopts nothing and is never set back, so there it means the same as `ADOPT`."""
    MERGE = "both have something new"


def decide(graph: Graph, is_automatic: Callable[[str], bool], ours: str, theirs: str) -> Decision:
    """What to do, by the adopt rule: automatic merges are never worth a merge of their own, real commits are never dropped.

    Args:
        graph: The commit graph.
        is_automatic: Whether a commit is an automatic merge.
        ours: Our tip.
        theirs: The other tip.
    """
    if ours == theirs:
        return Decision.SAME
    if graph.is_ancestor(theirs, ours):
        return Decision.PUSH
    if graph.is_ancestor(ours, theirs):
        return Decision.FORWARD
    mine_real, theirs_real = (
        any(not is_automatic(sha) for sha in graph.only_in(one, other))
        for one, other in ((ours, theirs), (theirs, ours))
    )
    if mine_real:
        return Decision.MERGE
    return Decision.ADOPT if theirs_real or theirs < ours else Decision.KEEP


def last_real(graph: Graph, is_automatic: Callable[[str], bool], sha: str, published: str | None) -> str:
    """Our newest commit that is worth keeping: automatic merges that no remote has got are made again from below them.

    Args:
        graph: The commit graph.
        is_automatic: Whether a commit is an automatic merge.
        sha: Our tip.
        published: The newest commit the remote is known to have had.
    """
    while is_automatic(sha) and not (published and graph.is_ancestor(sha, published)):
        ours = [
            parent
            for parent in graph.parents(sha)
            if not (published and graph.is_ancestor(parent, published))
        ]
        if len(ours) != 1:
            return sha
        sha = ours[0]
    return sha
