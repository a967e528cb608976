"""Fetching from a remote without ever waiting longer than agreed, and judging what is found there (merge.md, section 5)."""

import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gitmem.core import reach
from gitmem.edges import gitdir, surroundings
from gitmem.edges.child import Child
from gitmem.edges.opened import Opened
from gitmem.edges.refs import Reflog, Refs
from gitmem.edges.remote import Access, reply_of, request
from gitmem.edges.remotes import Remote

_TICK = 0.02
_WHO = "gitmem <gitmem@localhost>"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch found.

    Attributes:
        sha: Where the branch is at the remote, with all of its history here now; None where there is no such branch.
        objects: How many objects came.
    """

    sha: str | None
    objects: int


class Seen(Enum):
    """What a remote's branch is, compared with what it was when it was last seen."""

    NEW = "never seen before"
    SAME = "as before"
    AHEAD = "it has gone on"
    REWRITTEN = "what was there is not part of it any more"
    GONE = "it is there no more"


def fetch(
    git_dir: Path, remote: Remote, branch: str, *, deadline: float, access: Access | None = None
) -> Fetched:
    """Fetch a branch and wait for the end. No ref is moved.

    Args:
        git_dir: The repository.
        remote: Where from.
        branch: Full name of the ref.
        deadline: Seconds it may take in all.
        access: How to get in.

    Raises:
        RemoteError: Nothing could be fetched, or what came is refused; see its `state`.
        RepositoryRefused: Our own repository is damaged.
        ConfigError: The ssh command, certificate or credentials file cannot be used.
    """
    git = gitdir.resolve(git_dir)
    way = access or Access()
    haves = tuple(sorted(set(Refs(git).below("refs/").values())))
    asked = request(git, remote, way, deadline, fetch=branch, haves=haves)
    child = Child(
        "gitmem.edges.transfer",
        asked.dump(),
        deadline=deadline,
        environ=surroundings.environment(way.environ),
    )
    try:
        while (ended := child.poll()) is None:
            time.sleep(_TICK)
    finally:
        child.close()
    reply = reply_of(ended, remote, f"fetch from {remote.name}", deadline)
    if reply.trouble is not None:
        raise reply.trouble.error()
    return Fetched(reply.fetched, reply.objects)


def judge(opened: Opened, remote: Remote, branch: str, sha: str | None) -> Seen:
    """Compare what was fetched with what the remote was last known to hold."""
    tracking = remote.tracking(branch)
    seen = None if tracking is None else opened.repo.refs.read(tracking)
    if seen is None:
        return Seen.NEW
    if sha is None:
        return Seen.GONE
    if sha == seen:
        return Seen.SAME

    def node(name: str) -> tuple[int, tuple[str, ...]]:
        info = opened.repo.info(name)
        return info.time, info.parents

    return Seen.AHEAD if reach.is_ancestor(node, seen, sha) else Seen.REWRITTEN


def note_seen(opened: Opened, remote: Remote, branch: str, sha: str) -> None:
    """Remember where the remote's branch is."""
    tracking = remote.tracking(branch)
    if tracking is not None:
        log = Reflog(_WHO, int(opened.clock()), f"fetch: from {remote.name}")
        opened.repo.refs.move(tracking, opened.repo.refs.read(tracking), sha, log)


def forget(opened: Opened, remote: Remote) -> None:
    """Forget where the remote's branches were, so that they are taken as they are."""
    for ref, sha in opened.repo.refs.below(f"refs/remotes/{remote.name}/").items():
        opened.repo.refs.delete(ref, sha)
