"""One cycle of a sync: commit, fetch, merge in memory, push, and only then move the branch and install (merge.md, section 5).

A merge that loses a race is made again from the newest real commit, so nobody ever sees it. The branch moves forward, or off an
automatic merge that no other machine knows; a real commit is never dropped.
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gitmem.core.merge import commits
from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.base import Bases
from gitmem.core.merge.commits import Decision
from gitmem.core.merge.tree import merge_tree
from gitmem.core.model import File, PathClass, TreePath
from gitmem.edges import account, generations, tip, views
from gitmem.edges.incoming import Seen, judge, note_seen
from gitmem.edges.opened import Opened
from gitmem.edges.remotes import Remote
from gitmem.edges.repo import Stamp
from gitmem.edges.trees import Entry
from gitmem.errors import NeedsDecision, RemoteError, RepositoryBusy

_TRIES = 20
_PAUSE = (0.2, 5.0)
"""First and longest wait, in seconds, after a lost race."""

_Tree = Mapping[TreePath, Entry]


class Transport(Protocol):
    """The way to one remote."""

    def fetch(self, branch: str) -> str | None:
        """Bring the remote's branch here; where it is, None where there is none."""

    def push(self, branch: str, sha: str, theirs: str | None) -> bool:
        """Move the remote's branch from `theirs` to `sha`; False when somebody else moved it first."""


@dataclass(frozen=True)
class Synced:
    """What a cycle did.

    Attributes:
        decision: What was to be done.
        before: Our branch before; None when there was none.
        after: Our branch, and the remote's, after.
        pushed: Whether the remote got something.
        races: How many times another machine was faster.
        conflicts: Places that a person may want to look at.
    """

    decision: Decision
    before: str | None
    after: str
    pushed: bool = False
    races: int = 0
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Next:
    """Where both are to be: the commit, whether the remote needs it, and what could not be decided on the way."""

    decision: Decision
    sha: str
    push: bool
    conflicts: tuple[str, ...] = field(default=())


def sync(
    opened: Opened,
    remote: Remote,
    transport: Transport,
    commit_all: Callable[[], None],
    *,
    join: bool = False,
    pause: Callable[[float], None] = time.sleep,
) -> Synced:
    """Sync with one remote until both are at the same commit.

    Args:
        opened: The workspace.
        remote: The remote.
        transport: The way there.
        commit_all: Commits everything on disk.
        join: Merge also where the two histories have nothing in common.
        pause: Waits between tries.

    Raises:
        RemoteError: The remote cannot be reached, refuses, or was rewritten; commits go on here.
        NeedsDecision: Only a person can say what to do: histories with nothing in common, a git operation under way.
        RepositoryBusy: The branch kept moving.
    """
    for races in range(_TRIES):
        commit_all()
        here = tip.current(opened)
        if here.operation is not None:
            raise NeedsDecision(f"a {here.operation} is in progress", "Finish or abort it first.")
        theirs = _fetched(opened, remote, transport, here.ref)
        if here.sha is None and theirs is None:
            raise NeedsDecision(
                f"there is nothing to sync: here and at {remote.name} nothing was committed yet"
            )
        found = _next(opened, remote, here.sha, theirs, join=join)
        if (not found.push or transport.push(here.ref, found.sha, theirs)) and _advance(
            opened, here, found.sha
        ):
            note_seen(opened, remote, here.ref, found.sha)
            return Synced(found.decision, here.sha, found.sha, found.push, races, found.conflicts)
        pause(min(_PAUSE[1], _PAUSE[0] * 2**races) * random.random())
    raise RepositoryBusy(f"others kept pushing to {remote.name}", "Try again: gitmem sync")


def _fetched(opened: Opened, remote: Remote, transport: Transport, branch: str) -> str | None:
    theirs = transport.fetch(branch)
    if judge(opened, remote, branch, theirs) in (Seen.REWRITTEN, Seen.GONE):
        raise RemoteError(
            "rewritten",
            f"{remote.name} no longer holds what it held: somebody rewrote or removed its history. Nothing was merged",
            f"Take its new state: gitmem remote accept {remote.name}    Or put yours back: gitmem remote restore {remote.name}",
        )
    return theirs


def _next(opened: Opened, remote: Remote, mine: str | None, theirs: str | None, *, join: bool) -> _Next:
    """Decide, and make the merge where there has to be one."""
    if theirs is None:
        return _Next(Decision.PUSH, str(mine), push=True)
    if mine is None:
        return _Next(Decision.FORWARD, theirs, push=False)
    if theirs == mine:
        return _Next(Decision.SAME, mine, push=False)
    with generations.graph(opened.repo) as graph:
        return _different(opened, remote, graph, (mine, theirs), join=join)


def _different(opened: Opened, remote: Remote, graph: Graph, pair: tuple[str, str], *, join: bool) -> _Next:
    """Decide about two tips that are not the same."""
    mine, theirs = pair
    if graph.is_ancestor(theirs, mine):
        return _Next(Decision.PUSH, mine, push=True)

    def is_automatic(sha: str) -> bool:
        info = opened.repo.info(sha)
        return commits.is_automatic(info, [opened.repo.info(parent).time for parent in info.parents])

    tracking = remote.tracking(tip.current(opened).ref)
    published = None if tracking is None else opened.repo.refs.read(tracking)
    real = commits.last_real(graph, is_automatic, mine, published)
    decision = commits.decide(graph, is_automatic, real, theirs)
    if decision is not Decision.MERGE:
        return _Next(Decision.ADOPT if decision is Decision.KEEP else decision, theirs, push=False)
    _check_joinable(opened, graph, remote, (real, theirs), join=join)
    _check_version(opened, graph, real, theirs)
    sha, conflicts = merge(opened, graph, real, theirs)
    return _Next(decision, sha, push=True, conflicts=conflicts)


def _check_joinable(
    opened: Opened, graph: Graph, remote: Remote, pair: tuple[str, str], *, join: bool
) -> None:
    if graph.common_ancestors(*pair):
        return
    if not join:
        raise NeedsDecision(
            f"{remote.name} holds another memory: the two histories have nothing in common",
            f"Put them together, nothing is lost: gitmem sync {remote.name} --join",
        )
    name = f"refs/gitmem/pre-join/{pair[0][:12]}"
    if opened.repo.refs.read(name) is None:
        opened.repo.move(name, None, pair[0], opened.stamp())


def _check_version(opened: Opened, graph: Graph, mine: str, theirs: str) -> None:
    """Refuse to merge on top of merges whose rules we do not know: two sets of rules may never agree."""
    new = graph.only_in(theirs, mine)
    greatest = max((commits.rules_version(opened.repo.info(sha).message) or 0 for sha in new), default=0)
    if greatest > commits.VERSION:
        raise NeedsDecision(
            f"another machine merges by newer rules (v{greatest}; this gitmem knows v{commits.VERSION})",
            "Upgrade gitmem here. Commits go on; nothing is synced until then.",
        )


def merge(opened: Opened, graph: Graph, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """Make the merge commit of two commits: stored, on no branch. The same for ours and theirs exchanged.

    Returns:
        The commit, and the paths in which something could not be decided.
    """
    repo = opened.repo
    bases: Bases[_Tree] = Bases(
        graph, repo.files, lambda base, one, other: _merged(opened, base, one, other, record=False)[0], {}
    )
    made = commits.merge_commit(*((sha, repo.info(sha).time) for sha in (ours, theirs)))
    first, second = made.parents
    tree, conflicts = _merged(
        opened, bases.base(first, second), repo.files(first), repo.files(second), record=True
    )
    before = repo.files(first)
    paths = before.keys() | tree.keys()
    files = {path: _read(opened, tree.get(path)) for path in paths if before.get(path) != tree.get(path)}
    sha = repo.write(made.parents, files, made.message, Stamp(made.who, made.who, made.time, 0))
    return sha, conflicts


def _merged(
    opened: Opened, base: _Tree, ours: _Tree, theirs: _Tree, *, record: bool
) -> tuple[dict[TreePath, Entry], tuple[str, ...]]:
    """Three trees merged. Only files that are not the same in all of them are read."""
    versions = (base, ours, theirs)
    paths = {
        path
        for path in base.keys() | ours.keys() | theirs.keys()
        if not base.get(path) == ours.get(path) == theirs.get(path)
    }
    paths |= {other for path in paths for other in _unit(opened, path)}
    read = [{path: opened.repo.read(tree[path]) for path in paths if path in tree} for tree in versions]
    result = merge_tree(opened.classify, *read, record=record)
    tree = dict(ours)
    for path, file in result.files.items():
        if file is None:
            tree.pop(path, None)
        else:
            tree[path] = opened.repo.keep(file)
    return tree, tuple(sorted({told.path for told in result.conflicts}))


def _unit(opened: Opened, path: TreePath) -> tuple[TreePath, ...]:
    """The files that are merged as one with a file: the queue and its cursors."""
    if opened.classify(path) not in (PathClass.HISTORY, PathClass.CURSOR):
        return ()
    folder = path.rpartition("/")[0]
    return tuple(f"{folder}/{name}" for name in ("history.jsonl", ".cursor", ".dream_cursor"))


def _read(opened: Opened, entry: Entry | None) -> File | None:
    return None if entry is None else opened.repo.read(entry)


def _advance(opened: Opened, here: tip.Tip, new: str) -> bool:
    """Move the branch, with an account of what is on disk; False when somebody moved it meanwhile."""
    if here.sha == new:
        return True
    with opened.writing():
        if tip.current(opened) != here:
            return False
        before, after = opened.repo.files(here.sha), opened.repo.files(new)
        changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        known = account.load(opened)
        views.save(opened.repo.git, views.begin(known, before, changed, opened.clock()))
        return opened.repo.move(here.ref, here.sha, new, opened.stamp())


def accept(opened: Opened, remote: Remote, transport: Transport, commit_all: Callable[[], None]) -> str:
    """Build on a remote's rewritten history: what was changed here since it was last seen is put on top, as one commit.

    The branch as it was stays on `refs/gitmem/pre-join/`.

    Returns:
        The new commit of the branch.
    """
    commit_all()
    here = tip.current(opened)
    theirs = transport.fetch(here.ref)
    tracking = remote.tracking(here.ref)
    seen = None if tracking is None else opened.repo.refs.read(tracking)
    if theirs is None or here.sha is None:
        raise NeedsDecision(f"{remote.name} is empty", f"Put yours back: gitmem remote restore {remote.name}")
    repo = opened.repo
    tree, _ = _merged(opened, repo.files(seen), repo.files(here.sha), repo.files(theirs), record=True)
    before = repo.files(theirs)
    files = {
        path: _read(opened, tree.get(path))
        for path in before.keys() | tree.keys()
        if before.get(path) != tree.get(path)
    }
    text = f"merge: on top of what {remote.name} was rewritten to\n\nGitmem-Kind: merge\nGitmem-Host: {opened.host}\n"
    new = repo.write((theirs,), files, text.encode(), opened.stamp()) if files else theirs
    repo.move(f"refs/gitmem/pre-join/{here.sha[:12]}", None, here.sha, opened.stamp())
    if not _advance(opened, here, new):
        raise RepositoryBusy("the branch moved meanwhile; nothing was changed", "Try again.")
    note_seen(opened, remote, here.ref, theirs)
    return new
