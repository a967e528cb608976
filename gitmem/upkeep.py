"""When the daemon has the engine work: some minutes after the agent's last save, when a session is idle, when a Dream is due.

The work is done by a process of its own (`chores`); the loop only starts it, looks at it, and ends it.
"""

import json
import os
import time
from typing import Any

from gitmem import logs
from gitmem.edges.child import Child, Ended
from gitmem.edges.config import Settings
from gitmem.edges.opened import Opened
from gitmem.edges.workspace import Workspace

_LOOK = 0.5
"""Seconds between two looks at a process under way."""
_FAILED = 600.0
"""Seconds until a new try after the process itself failed."""
_MARGIN = 5.0
_SPARE = 600.0
"""Seconds that a process may take for archiving, besides what a Dream may take."""


def off(workspace: Workspace, settings: Settings) -> str | None:
    """Why the engine does not work by itself; None when it does."""
    if settings.engine == "off":
        return "switched off"
    if settings.engine == "auto" and workspace.layout.remembers_itself:
        return f"left to the agent ({workspace.layout.agent})"
    if not settings.model:
        return "no model is set"
    return None


class Upkeep:
    """Has one workspace's chores done."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._off = off(opened.workspace, opened.settings)
        self._due: float | None = None if self._off else time.monotonic() + _MARGIN
        self._covered = opened.repo.head()
        self._process: Child | None = None
        self._failure: str | None = None

    def due(self) -> float | None:
        """Monotonic seconds at which `step` has something to do; None when that needs new commits."""
        return time.monotonic() + _LOOK if self._process is not None else self._due

    def step(self, now: float, head: str | None) -> None:
        """Start what is due, or look at what is under way.

        Args:
            now: Monotonic seconds.
            head: The newest commit, whoever made it; a change of it makes chores due once the agent is at rest.
        """
        if self._off:
            return
        if self._process is None and head != self._covered:
            self._covered = head
            rest = now + self._opened.settings.session_hot + _MARGIN
            self._due = rest if self._due is None else min(self._due, rest)
        if self._process is not None:
            ended = self._process.poll()
            if ended is not None:
                self._process = None
                self._take(ended, now)
        elif self._due is not None and now >= self._due:
            self._start(now)

    def _start(self, now: float) -> None:
        settings = self._opened.settings
        request = json.dumps({"workspace": str(self._opened.workspace.directory)}).encode()
        deadline = settings.dream_seconds + settings.model_timeout + _SPARE
        self._due = None
        try:
            self._process = Child("gitmem.chores", request, deadline=deadline, environ=os.environ)
        except OSError as error:
            self._failed(str(error), now + _FAILED)

    def _take(self, ended: Ended, now: float) -> None:
        try:
            result = json.loads(ended.output)
            did, failure, again, self._covered = (
                result[name] for name in ("did", "failure", "again", "head")
            )
        except (ValueError, KeyError, TypeError):
            self._failed(ended.errors.strip().rpartition("\n")[2] or ended.why.value, now + _FAILED)
            return
        for subject in did:
            logs.say("the engine committed", subject=subject)
        if again is not None:
            later = now + max(1.0, float(again))
            self._due = later if self._due is None else min(self._due, later)
        if failure is not None:
            self._failed(failure, self._due or now + _FAILED)
        else:
            self._failure = None

    def _failed(self, why: str, due: float) -> None:
        if why != self._failure:
            logs.warn("the memory engine could not do its work", error=why)
        self._failure, self._due = why, due

    def status(self) -> dict[str, Any]:
        """For `gitmem status`."""
        wait = None if self._due is None else max(0.0, self._due - time.monotonic())
        state = "working" if self._process is not None else "waiting"
        return {
            "state": "off" if self._off else state,
            "why": self._off,
            "next_in": wait,
            "failure": self._failure,
        }

    def close(self) -> None:
        """End what is under way; nothing is lost by it."""
        if self._process is not None:
            self._process.close()
            self._process = None
