"""Fetching from a remote without ever waiting longer than agreed, and judging what is found there (merge.md, section 5)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from gitmem.core import reach
from gitmem.edges import gitdir, surroundings
from gitmem.edges.child import Child
from gitmem.edges.gitdir import GitDir
from gitmem.edges.opened import Opened
from gitmem.edges.refs import Reflog, Refs
from gitmem.edges.remote import Access, reply_of, request
from gitmem.edges.remotes import Remote
from gitmem.edges.wire import Request

_TICK = 0.02
_WHO = "gitmem <gitmem@localhost>"
_HAVES = 1000
"""Tips that a server is told of at most: the request has to fit into a pipe."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch found.

    Attributes:
        sha: Where the branch is at the remote, with all of its history here now; None where there is no such branch.
        objects: How many objects came.
        branch: Full name of the ref.
    """

    sha: str | None
    objects: int
    branch: str


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
    with FetchProcess.start(git_dir, remote, branch, deadline=deadline, access=access) as process:
        while (found := process.poll()) is None:
            time.sleep(_TICK)
        return found


class FetchProcess:
    """A fetch under way. Nothing here waits, except `close`; use it as a context manager.

    Args:
        remote: Where from.
        request: What to fetch.
        environ: Our environment.
    """

    def __init__(self, remote: Remote, request: Request, environ: Mapping[str, str]) -> None:
        self._remote = remote
        self._request = request
        self._child = Child(
            "gitmem.edges.transfer",
            request.dump(),
            deadline=request.deadline,
            environ=surroundings.environment(environ),
        )

    @classmethod
    def start(
        cls, git_dir: Path, remote: Remote, branch: str, *, deadline: float, access: Access | None = None
    ) -> Self:
        """Begin a fetch; see `fetch` for arguments and errors (those about settings come from here)."""
        git, way = gitdir.resolve(git_dir), access or Access()
        asked = request(git, remote, way, deadline, fetch=branch, haves=_haves(git, remote, branch))
        return cls(remote, asked, way.environ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Number of the process, which is also that of its group."""
        return self._child.pid

    def fileno(self) -> int:
        """A descriptor that becomes readable at the end; for `select`."""
        return self._child.fileno()

    def cancel(self) -> None:
        """Ask it to end; `poll` raises a `RemoteError` once it has."""
        self._child.cancel()

    def close(self) -> None:
        """End it if it runs, within about a second."""
        self._child.close()

    def poll(self) -> Fetched | None:
        """None while it runs, then what was found; errors as for `fetch`."""
        ended = self._child.poll()
        if ended is None:
            return None
        reply = reply_of(ended, self._remote, f"fetch from {self._remote.name}", self._request.deadline)
        if reply.trouble is not None:
            raise reply.trouble.error()
        return Fetched(reply.fetched, reply.objects, str(self._request.fetch))


def _haves(git: GitDir, remote: Remote, branch: str) -> tuple[str, ...]:
    """Commits that we have whole, the likeliest to be known there first.

    Only refs that we or a person set on what is ours: what somebody's `git fetch` left below refs/remotes/ was never looked at.
    """
    refs = Refs(git)
    first = (remote.tracking(branch), branch)
    found = [refs.read(ref) for ref in first if ref is not None]
    for prefix in ("refs/heads/", f"refs/remotes/{remote.name}/", "refs/gitmem/"):
        found += sorted(refs.below(prefix).values())
    return tuple(islice(dict.fromkeys(sha for sha in found if sha is not None), _HAVES))


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


def note_seen(opened: Opened, remote: Remote, branch: str, sha: str) -> bool:
    """Remember where the remote's branch is, once it was judged.

    Returns:
        False when another process noted something else at the same moment.
    """
    tracking = remote.tracking(branch)
    if tracking is None:
        return True
    log = Reflog(_WHO, int(opened.clock()), f"fetch: from {remote.name}")
    return opened.repo.refs.move(tracking, opened.repo.refs.read(tracking), sha, log)


def forget(opened: Opened, remote: Remote) -> None:
    """Forget where the remote's branches were, so that they are taken as they are."""
    for ref, sha in opened.repo.refs.below(f"refs/remotes/{remote.name}/").items():
        opened.repo.refs.delete(ref, sha)
