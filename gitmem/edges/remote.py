"""Pushing to a remote without ever waiting longer than agreed: the face of everything about remotes.

A push runs in a process group of its own, without a terminal, and the whole group is ended at the deadline
(B34). Use `push` to wait for it, or `PushProcess` from a loop that must not wait. Fetching is in `incoming`.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from gitmem.core import remote_url
from gitmem.edges import config, credentials, gitdir, surroundings
from gitmem.edges.child import Child, End, Ended
from gitmem.edges.gitdir import GitDir
from gitmem.edges.refs import Reflog, Refs
from gitmem.edges.remotes import Remote
from gitmem.edges.wire import Login, Offer, Outcome, RefResult, Reply, Request
from gitmem.errors import NotFound, RemoteError, RepositoryBusy, RepositoryRefused

_TICK = 0.02
"""Seconds between two looks at a process that `push` waits for."""
_INFLIGHT = "refs/gitmem/inflight/"
_WHO = "gitmem <gitmem@localhost>"


@dataclass(frozen=True, slots=True)
class Access:
    """How to get in; everything here is the user's own, nothing comes from a repository.

    Attributes:
        login: For http; looked up by `credentials.find` when None.
        ask_helper: Whether git's credential helpers may be asked when nothing else is known.
        ssh_command: Instead of GIT_SSH_COMMAND, GIT_SSH or `ssh`.
        ca_file: Certificates for https instead of GIT_SSL_CAINFO, SSL_CERT_FILE or the system's.
        patience: Seconds without an answer after which a connection counts as dead.
        config_home: Folder with the file `credentials`; gitmem's own by default.
        environ: Our environment.
    """

    login: Login | None = None
    ask_helper: bool = True
    ssh_command: str | None = None
    ca_file: str | None = None
    patience: float = 30.0
    config_home: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, slots=True)
class PushResult:
    """What a push did.

    Attributes:
        remote: Name of the remote.
        refs: One result for each ref that was to be pushed.
        objects: Objects sent.
        server: The last lines the server wrote for a person.
        notes: What else a person may want to know.
    """

    remote: str
    refs: tuple[RefResult, ...]
    objects: int = 0
    server: str = ""
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything moved at the remote."""
        return any(result.outcome is Outcome.PUSHED for result in self.refs)


class PushRejected(RemoteError):  # noqa: N818  (an outcome, like those in errors)
    """The remote was reached, but not every ref arrived; `result` tells which did."""

    def __init__(self, state: str, message: str, hint: str | None, result: PushResult) -> None:
        super().__init__(state, message, hint)
        self.result = result


def allowance(size: int, base: float = 60.0) -> float:
    """Seconds to give a push of `size` bytes: a base, and their time at 100 kB/s (merge.md, section 5)."""
    return base + size / 100_000


def push(
    git_dir: Path,
    remote: Remote,
    refs: Sequence[str] | None = None,
    *,
    deadline: float,
    access: Access | None = None,
    cancel: threading.Event | None = None,
    chosen: Sequence[Offer] | None = None,
) -> PushResult:
    """Push and wait for the end.

    Args:
        git_dir: The repository.
        remote: Where to.
        refs: Full names; by default the current branch and the in-flight refs. Each goes to the same name.
        deadline: Seconds it may take in all.
        access: How to get in.
        cancel: Ends the push when set, within a second or so.
        chosen: Offers made by the caller, in place of `refs`.

    Raises:
        PushRejected: Something did not arrive.
        RemoteError: Nothing can be said about what arrived; see its `state`.
        RepositoryRefused: Our own repository is damaged.
        NotFound: There is nothing to push.
        ConfigError: The ssh command, certificate or credentials file cannot be used.
    """
    with PushProcess.start(git_dir, remote, refs, deadline=deadline, access=access, chosen=chosen) as process:
        while (result := process.poll()) is None:
            if cancel is not None and cancel.is_set():
                process.cancel()
            time.sleep(_TICK)
        return result


def offers(git: GitDir, remote: Remote, names: Sequence[str] | None) -> tuple[Offer, ...]:
    """The refs to push, with what the remote was last known to hold.

    Raises:
        NotFound: A named ref, or by default every ref, does not exist.
    """
    refs = Refs(git)
    found: list[Offer] = []
    for name in _default_refs(git, refs) if names is None else names:
        sha = refs.read(name)
        if sha is not None:
            tracking = remote.tracking(name)
            found.append(Offer(name, sha, refs.read(tracking) if tracking else None))
        elif names is not None:
            raise NotFound(f"there is no {name} to push")
    if not found:
        raise NotFound("there is nothing to push yet")
    return tuple(found)


def _default_refs(git: GitDir, refs: Refs) -> list[str]:
    branch = gitdir.head_branch(git)
    return [*([branch] if branch else []), *sorted(refs.below(_INFLIGHT))]


def request(
    git: GitDir,
    remote: Remote,
    way: Access,
    deadline: float,
    *,
    offers: tuple[Offer, ...] = (),
    fetch: str | None = None,
    haves: tuple[str, ...] = (),
) -> Request:
    """What a transfer's process is asked to do.

    Raises:
        ConfigError: The ssh command, certificate or credentials file cannot be used.
    """
    login = way.login or credentials.find(remote.url, way.environ, way.config_home or config.config_home())
    return Request(
        git=str(git.common),
        url=remote.url.text,
        offers=offers,
        login=login,
        ask_helper=way.ask_helper,
        ssh_command=surroundings.ssh_command(way.environ, way.ssh_command),
        ca_file=surroundings.ca_file(way.environ, way.ca_file),
        patience=way.patience,
        deadline=deadline,
        fetch=fetch,
        haves=haves,
    )


def reply_of(ended: Ended, remote: Remote, what: str, deadline: float) -> Reply:
    """What a transfer's process said; a whole reply counts even when late.

    Args:
        ended: How it ended.
        remote: Where to.
        what: The transfer, in words.
        deadline: Seconds it had.

    Raises:
        RemoteError: It said nothing; the message tells how it ended.
    """
    with suppress(ValueError):
        return Reply.load(ended.output)
    if ended.why is End.DEADLINE:
        raise RemoteError(
            "timeout", f"{remote.name} did not answer in time; the {what} was ended after {deadline:g} s"
        )
    if ended.why is End.CANCELLED:
        raise RemoteError("timeout", f"the {what} was ended before it was done")
    last = remote_url.printable(ended.errors.strip().rsplit("\n", 1)[-1])
    raise RemoteError("protocol", f"the {what} broke off (status {ended.status}): {last}")


class PushProcess:
    """A push under way. Nothing here waits, except `close`; use it as a context manager.

    Args:
        git: The repository.
        remote: Where to.
        request: What to push.
        environ: Our environment.
    """

    def __init__(self, git: GitDir, remote: Remote, request: Request, environ: Mapping[str, str]) -> None:
        self._git = git
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
        cls,
        git_dir: Path,
        remote: Remote,
        refs: Sequence[str] | None = None,
        *,
        deadline: float,
        access: Access | None = None,
        chosen: Sequence[Offer] | None = None,
    ) -> Self:
        """Begin a push; see `push` for arguments and errors (those about settings come from here)."""
        git = gitdir.resolve(git_dir)
        way = access or Access()
        found = offers(git, remote, refs) if chosen is None else tuple(chosen)
        return cls(git, remote, request(git, remote, way, deadline, offers=found), way.environ)

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

    def poll(self) -> PushResult | None:
        """None while it runs, the result once all refs arrived; errors as for `push`."""
        ended = self._child.poll()
        if ended is None:
            return None
        reply = reply_of(ended, self._remote, f"push to {self._remote.name}", self._request.deadline)
        notes = tuple(note for result in reply.refs if (note := self._remember(result)))
        if reply.trouble is not None:
            raise reply.trouble.error()
        result = PushResult(self._remote.name, reply.refs, reply.objects, reply.server, notes)
        _check(result, self._remote)
        return result

    def _remember(self, result: RefResult) -> str | None:
        """Move the tracking ref to what the server acknowledged; a ref that did not arrive never moves it."""
        tracking = self._remote.tracking(result.ref)
        if tracking is None or not result.outcome.arrived:
            return None
        seen = next(offer.seen for offer in self._request.offers if offer.ref == result.ref)
        if seen == result.ours:
            return None
        log = Reflog(_WHO, int(time.time()), f"push: to {self._remote.name}")
        try:
            Refs(self._git).move(tracking, seen, result.ours, log)
        except (RepositoryBusy, RepositoryRefused, OSError) as error:  # the push itself is done
            return f"{tracking} could not be moved: {error}"
        return None


def _check(result: PushResult, remote: Remote) -> None:
    """Raise for what did not arrive; what is told first is what needs a person."""
    for outcome in (Outcome.DIVERGED, Outcome.REFUSED):
        texts = [ref.text for ref in result.refs if ref.outcome is outcome]
        if texts:
            raise PushRejected(
                outcome.value, _sentence(outcome, texts, result), _hint(outcome, remote), result
            )


def _sentence(outcome: Outcome, texts: Sequence[str], result: PushResult) -> str:
    facts = "; ".join(texts)
    if outcome is Outcome.DIVERGED:
        return f"{result.remote} and this machine have gone different ways: {facts}. Nothing was overwritten"
    said = f" (it says: {result.server})" if result.server else ""
    return f"{result.remote} refused: {facts}{said}"


def _hint(outcome: Outcome, remote: Remote) -> str | None:
    if outcome is Outcome.REFUSED:
        return None
    return (
        f"If another machine of yours pushes there, put the two together: gitmem remote sync {remote.name}. "
        f"See what is there with: gitmem git fetch {remote.url}. To back up meanwhile, add another place: "
        "gitmem remote add NAME URL. If what was there is gone on purpose, start afresh: "
        f"gitmem remote remove {remote.name}, then add it again."
    )
