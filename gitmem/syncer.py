"""Syncing in the background: some seconds after a commit, and every now and then for what others wrote (merge.md, section 5).

Each cycle runs in a process of its own (`syncing`). The loop starts it, looks at it, and ends it; trouble makes tries rarer,
and commits go on meanwhile.
"""

import json
import os
import random
import time
from dataclasses import dataclass, field
from typing import Any

from gitmem import logs
from gitmem.actions import install
from gitmem.core.backoff import Backoff
from gitmem.edges import remotes
from gitmem.edges.child import Child, Ended
from gitmem.edges.opened import Opened
from gitmem.edges.remote import allowance
from gitmem.edges.remotes import Remote
from gitmem.errors import GitmemError

_LOOK = 0.1
"""Seconds between two looks at a cycle under way."""
_RECORD = 1.0
"""Seconds between two looks at whether the record of remotes changed."""
_POLL = (30.0, 300.0)
"""Seconds between two looks at a remote: while either side is active, and the longest when nothing happens."""
_SLOWER = 1.5
_INSTALL = 10.0
"""Seconds between two tries to install what waited for a session at rest."""
_SIZE_GUESS = 20_000_000
_ROUNDS = 4
"""Transfers that one cycle may need: fetch and push, and again after a lost race."""


@dataclass
class _Lane:
    """One remote: how tries went, when the next is due, and the cycle under way."""

    remote: Remote
    due: float
    pause: float = _POLL[0]
    backoff: Backoff = field(default_factory=Backoff)
    error: str | None = None
    hint: str | None = None
    synced: float | None = None
    process: Child | None = None


class Syncer:
    """Syncs one workspace with the remotes that are not mere backups."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._lanes: dict[str, _Lane] = {}
        self._record: int | None = None
        self._covered = opened.repo.head()
        self._next_look = 0.0
        self._next_install = 0.0
        self._waiting: dict[str, str] = {}
        self._reload(time.monotonic())

    def due(self) -> float | None:
        """Monotonic seconds at which `step` has something to do; None where there is nothing to sync with."""
        if any(lane.process is not None for lane in self._lanes.values()):
            return time.monotonic() + _LOOK
        times = [lane.due for lane in self._lanes.values()]
        return min([*times, *([self._next_install] if self._waiting else [])], default=None)

    def step(self, now: float, head: str | None) -> None:
        """Look after every remote.

        Args:
            now: Monotonic seconds.
            head: The newest commit, whoever made it; a change of it makes a sync due.
        """
        if now >= self._next_look:
            self._next_look = now + _RECORD
            self._reload(now)
        if head != self._covered:
            self._covered = head
            for lane in self._lanes.values():
                if lane.backoff.ready(now):
                    lane.due, lane.pause = min(lane.due, now + self._opened.settings.push_delay), _POLL[0]
        for lane in self._lanes.values():
            if lane.process is not None:
                ended = lane.process.poll()
                if ended is not None:
                    lane.process = None
                    self._take(lane, ended, now)
            elif now >= lane.due:
                self._start(lane, now)
        if self._waiting and now >= self._next_install:
            self._install(now)

    def _reload(self, now: float) -> None:
        path = remotes.record(self._opened.repo.git.control)
        stamp = path.stat().st_mtime_ns if path.exists() else None
        if stamp == self._record:
            return
        self._record = stamp
        try:
            loaded = remotes.load(self._opened.repo.git.control)
        except GitmemError:  # the pusher tells of it
            return
        found = {remote.name: remote for remote in loaded if remote.sync}
        for name in self._lanes.keys() - found.keys():
            lane = self._lanes.pop(name)
            if lane.process is not None:
                lane.process.close()
        for name, remote in found.items():
            if name not in self._lanes or self._lanes[name].remote != remote:
                self._lanes[name] = _Lane(remote, due=now)

    def _start(self, lane: _Lane, now: float) -> None:
        request = {"workspace": str(self._opened.workspace.directory), "remote": lane.remote.name}
        deadline = _ROUNDS * allowance(_SIZE_GUESS, self._opened.settings.push_deadline)
        try:
            lane.process = Child(
                "gitmem.syncing", json.dumps(request).encode(), deadline=deadline, environ=os.environ
            )
        except OSError as error:
            self._failed(lane, "settings", str(error), None, now)

    def _take(self, lane: _Lane, ended: Ended, now: float) -> None:
        try:
            result = json.loads(ended.output)
        except ValueError:
            text = ended.errors.strip().rpartition("\n")[2] or ended.why.value
            self._failed(lane, "protocol", text, None, now)
            return
        if "error" in result:
            self._failed(lane, result["state"], result["error"], result["hint"], now)
            return
        lane.backoff, lane.error, lane.hint = lane.backoff.succeeded(), None, None
        lane.synced = self._opened.clock()
        self._covered = result["after"]
        self._waiting = result["waiting"]
        self._next_install = now + _INSTALL
        lane.pause = _POLL[0] if result["changed"] else min(lane.pause * _SLOWER, _POLL[1])
        lane.due = now + lane.pause * (1 + random.random() / 10)
        if result["changed"]:
            logs.say(f"synced with {lane.remote.name}", remote=lane.remote.name, decision=result["decision"])
        for path in result["conflicts"]:
            logs.warn("two machines changed the same place: see gitmem conflicts", path=path)

    def _failed(self, lane: _Lane, state: str, text: str, hint: str | None, now: float) -> None:
        lane.backoff = lane.backoff.failed(state, now, random.random())
        lane.due = lane.backoff.due or now + _POLL[1]
        if text != lane.error:
            logs.warn(f"could not sync with {lane.remote.name}: {text}", remote=lane.remote.name, state=state)
        lane.error, lane.hint = text, hint

    def _install(self, now: float) -> None:
        """Put on disk what waited, where it can be now."""
        self._next_install = now + _INSTALL
        try:
            self._waiting = install.install(self._opened).waiting
        except GitmemError as error:
            logs.say("what was merged waits", reason=str(error))

    def status(self) -> dict[str, Any]:
        """Each remote's state, and what waits to be put on disk."""
        now = time.monotonic()
        rows = {
            name: {
                "url": lane.remote.url.text,
                "state": lane.backoff.state or ("syncing" if lane.process else "ok"),
                "error": lane.error,
                "hint": lane.hint,
                "pushed": lane.synced,
                "next_try_in": max(0.0, lane.due - now),
            }
            for name, lane in self._lanes.items()
        }
        return {"remotes": rows, "waiting": dict(self._waiting)}

    def close(self) -> None:
        """End what is under way; the next start goes on."""
        for lane in self._lanes.values():
            if lane.process is not None:
                lane.process.close()
                lane.process = None
