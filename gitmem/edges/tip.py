"""Where commits go, and making one there.

Normally that is the branch HEAD names. While a person's merge, rebase, cherry-pick, revert or bisect is unfinished, or HEAD is
detached, it is `refs/gitmem/pending/<host>`, folded in afterwards (gitstore, section 1).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from dulwich.index import ConflictedIndexEntry

from gitmem.core.model import CommitInfo, File, Snapshot, TreePath
from gitmem.edges import gitdir, indexfile
from gitmem.edges.opened import Opened
from gitmem.edges.repo import Stamp
from gitmem.errors import RepositoryRefused


@dataclass(frozen=True)
class Tip:
    """The ref that the next commit goes to.

    Attributes:
        ref: Full name.
        sha: Where it is; None while it does not exist.
        base: The commit whose tree the next one starts from.
        pending: A commit of the pending ref that the next one must take in; None when there is nothing to fold.
        operation: What a person is in the middle of; None in normal times.
    """

    ref: str
    sha: str | None
    base: str | None
    pending: str | None = None
    operation: str | None = None


def current(opened: Opened) -> Tip:
    """Where the next commit goes."""
    repo = opened.repo
    branch = repo.branch()
    operation = gitdir.operation_in_progress(repo.git)
    pending = repo.refs.read(opened.pending_ref)
    if branch is None or operation is not None:
        base = pending or (repo.head() if branch is not None else _detached(opened))
        return Tip(opened.pending_ref, pending, base, operation=operation or "detached HEAD")
    head = repo.refs.read(branch)
    return Tip(branch, head, head, pending=pending)


def _detached(opened: Opened) -> str:
    return (opened.repo.git.control / "HEAD").read_text("ascii").strip()


def commit(opened: Opened, snapshot: Snapshot, tip: Tip, stamp: Stamp | None = None) -> CommitInfo | None:
    """Commit a snapshot on a tip.

    Returns:
        The commit, durable and reachable; None when somebody moved the ref meanwhile (nothing is lost: start again).
    """
    stamp = stamp or opened.stamp()
    sha = write(opened, snapshot.files, opened.render(snapshot.message), tip, stamp)
    gitdir.await_index(opened.repo.git)
    if not opened.repo.move(tip.ref, tip.sha, sha, stamp):
        return None
    if tip.pending is not None:
        opened.repo.refs.delete(opened.pending_ref, tip.pending)
    return opened.repo.info(sha)


def write(opened: Opened, files: Mapping[TreePath, File | None], text: bytes, tip: Tip, stamp: Stamp) -> str:
    """Store a commit on a tip without moving the ref."""
    parents = () if tip.base is None else (tip.base,)
    if tip.pending is not None and tip.pending not in parents:
        parents = (*parents, tip.pending)
    return opened.repo.write(parents, files, text, stamp)


def unmerged(opened: Opened) -> frozenset[TreePath]:
    """Paths that a person's merge has left in conflict: they hold conflict markers and are left alone.

    Raises:
        RepositoryRefused: The index cannot be read.
    """
    try:
        entries = indexfile.read(opened.repo.git).entries
    except (ValueError, AssertionError, OSError) as error:
        raise RepositoryRefused(f"the index cannot be read: {error}", "Rebuild it with: git reset") from error
    return frozenset(
        os.fsdecode(name) for name, entry in entries.items() if isinstance(entry, ConflictedIndexEntry)
    )
