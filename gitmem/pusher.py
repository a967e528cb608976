"""Backups in the background: some seconds after a commit, each remote gets it, in a process of its own.

The loop never waits for the network: it starts a push, looks at it now and then, and ends it at the deadline (B34). Tries that
fail are repeated ever more slowly; commits go on meanwhile.
"""

import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gitmem import logs
from gitmem.core.backoff import Backoff
from gitmem.edges import gitdir, remotes
from gitmem.edges.opened import Opened
from gitmem.edges.remote import PushProcess, allowance
from gitmem.edges.remotes import Remote
from gitmem.errors import GitmemError, NotFound, RemoteError

_LOOK = 0.2
"""Seconds between two looks at a push under way."""
_RECORD = 1.0
"""Seconds between two looks at whether the record of remotes changed; a look is one stat."""
_SIZE_GUESS = 20_000_000
"""Bytes a push may have to send; its deadline allows for them at 100 kB/s on top of push_deadline."""


@dataclass
class _Lane:
    """One remote: what was sent, how tries went, and the push under way."""

    remote: Remote
    backoff: Backoff = field(default_factory=Backoff)
    error: str | None = None
    hint: str | None = None
    due: float | None = None
    pushed: float | None = None
    process: PushProcess | None = None


class Pusher:
    """Pushes one workspace's commits to its remotes."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._git_dir = opened.repo.git.control
        self._lanes: dict[str, _Lane] = {}
        self._record: int | None = None
        self._covered = opened.repo.head()
        self._trouble: str | None = None
        self._next_look = 0.0
        self._reload(time.monotonic())

    def due(self) -> float | None:
        """Monotonic seconds at which `step` has something to do; None when nothing is to be pushed."""
        if any(lane.process is not None for lane in self._lanes.values()):
            return time.monotonic() + _LOOK
        return min((lane.due for lane in self._lanes.values() if lane.due is not None), default=None)

    def step(self, now: float, head: str | None) -> None:
        """Look after every remote.

        Args:
            now: Monotonic seconds.
            head: The newest commit, whoever made it; a change of it makes pushes due.
        """
        if now >= self._next_look:
            self._next_look = now + _RECORD
            self._reload(now)
        if head != self._covered:
            self._covered = head
            for lane in self._lanes.values():
                lane.due = lane.due or now + self._opened.settings.push_delay
        for lane in self._lanes.values():
            if lane.process is not None:
                self._look(lane, now)
            elif lane.due is not None and now >= lane.due:
                self._begin(lane, now)

    def _reload(self, now: float) -> None:
        """Read the record of remotes again where it changed; what is known of a remote stays."""
        path = remotes.record(self._git_dir)
        stamp = path.stat().st_mtime_ns if path.exists() else None
        if stamp == self._record:
            return
        self._record = stamp
        try:
            found = {remote.name: remote for remote in remotes.load(self._git_dir) if not remote.sync}
        except GitmemError as error:  # a wrong record of backups must not stop commits
            self._trouble = str(error)
            logs.warn("cannot read the remotes", error=str(error))
            return
        self._trouble = None
        for name in self._lanes.keys() - found.keys():
            lane = self._lanes.pop(name)
            if lane.process is not None:
                lane.process.close()
        for name, remote in found.items():
            known = self._lanes.get(name)
            if known is None or known.remote != remote:
                self._lanes[name] = _Lane(remote, due=now if unpushed(self._opened, remote) else None)

    def _begin(self, lane: _Lane, now: float) -> None:
        deadline = allowance(_SIZE_GUESS, self._opened.settings.push_deadline)
        lane.due = None
        try:
            lane.process = PushProcess.start(self._git_dir, lane.remote, deadline=deadline)
        except NotFound:
            return  # nothing to push yet
        except (GitmemError, OSError) as error:
            self._failed(lane, error, now)

    def _look(self, lane: _Lane, now: float) -> None:
        process = lane.process
        if process is None:
            return
        try:
            result = process.poll()
        except (GitmemError, OSError) as error:
            lane.process = None
            self._failed(lane, error, now)
            return
        if result is None:
            return
        lane.process, lane.error, lane.hint = None, None, None
        lane.backoff, lane.pushed = lane.backoff.succeeded(), self._opened.clock()
        if result.changed:
            logs.say(f"pushed to {lane.remote.name}", remote=lane.remote.name, objects=result.objects)

    def _failed(self, lane: _Lane, error: GitmemError | OSError, now: float) -> None:
        state = error.state if isinstance(error, RemoteError) else "settings"
        lane.backoff = lane.backoff.failed(state, now, random.random())
        lane.due = lane.backoff.due
        if str(error) != lane.error:
            logs.warn(f"could not push to {lane.remote.name}: {error}", remote=lane.remote.name, state=state)
        lane.error, lane.hint = str(error), error.hint if isinstance(error, GitmemError) else None

    def status(self) -> dict[str, Any]:
        """Each remote's state for `gitmem status`."""
        now = time.monotonic()
        return {
            name: {
                "url": lane.remote.url.text,
                "state": lane.backoff.state or ("pushing" if lane.process else "ok"),
                "error": lane.error,
                "hint": lane.hint,
                "pushed": lane.pushed,
                "next_try_in": None if lane.due is None else max(0.0, lane.due - now),
            }
            for name, lane in self._lanes.items()
        } | ({"?": {"url": "", "state": "settings", "error": self._trouble}} if self._trouble else {})

    def close(self) -> None:
        """End every push under way; what was not pushed is pushed after the next start."""
        for lane in self._lanes.values():
            if lane.process is not None:
                with suppress(RemoteError):
                    lane.process.close()
                lane.process = None


def unpushed(opened: Opened, remote: Remote) -> bool:
    """Whether the branch is ahead of what the remote was last seen to hold."""
    branch = gitdir.head_branch(opened.repo.git)
    tracking = None if branch is None else remote.tracking(branch)
    return tracking is not None and opened.repo.refs.read(tracking) != opened.repo.head()
