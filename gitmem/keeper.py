"""One workspace under the daemon's care: there or not there, held by us or by another, healthy or not.

The workspace may vanish at any moment (an unmounted disk, a folder replaced) and come back; that is a state, never a deletion
(gitstore, section 3.6).
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from gitmem import logs
from gitmem.core.model import Notice
from gitmem.edges.gitdir import head_branch, operation_in_progress, resolve
from gitmem.edges.lock import FileLock
from gitmem.edges.opened import missing_root, open_workspace
from gitmem.edges.watch import Event, Rescan, Watcher
from gitmem.edges.workspace import Workspace, load
from gitmem.errors import GitmemError
from gitmem.pusher import Pusher
from gitmem.rounds import Rounds
from gitmem.syncer import Syncer
from gitmem.upkeep import Upkeep

_CHECK = 1.0
"""Seconds between looks at the watcher's health and at a missing root; each costs well under a millisecond."""
_CLOCK_JUMP = 5.0
"""Seconds by which the clock may run off the monotonic one before we take it for a sleep of the machine."""


class Keeper:
    """Keeps one workspace as long as the daemon runs."""

    def __init__(
        self, workspace: Workspace, sink: Callable[[Event], None], record: Callable[[Workspace], None]
    ) -> None:
        """Prepare to keep a workspace.

        Args:
            workspace: The workspace.
            sink: Where the watcher's threads put events; called from any thread.
            record: Writes where the daemon listens; called whenever the state folder is (again) ours.
        """
        self.workspace = workspace
        self.rounds: Rounds | None = None
        self._sink = sink
        self._record = record
        self._stack = ExitStack()
        self._watcher: Watcher | None = None
        self._pusher: Pusher | None = None
        self._upkeep: Upkeep | None = None
        self._syncer: Syncer | None = None
        self._absent: str | None = None
        self._identity: tuple[int, int] | None = None
        self._next_check = 0.0
        self._drift = time.time() - time.monotonic()
        self._place: tuple[str | None, str | None] | None = None

    def open(self) -> None:
        """Lock the workspace, watch it, recover, and commit what changed meanwhile.

        Raises:
            WorkspaceLocked: Another daemon keeps it.
            GitmemError: The repository or the settings are refused.
        """
        with ExitStack() as stack:
            git = resolve(self.workspace.git.control)
            self.workspace = load(git, self.workspace.directory)
            stack.enter_context(FileLock(git.state / "daemon.lock").hold(0.0))
            self._record(self.workspace)
            opened = stack.enter_context(open_workspace(self.workspace))
            watcher = Watcher(self.workspace.layout.roots, self._sink, ignored=_ignored)
            stack.callback(watcher.stop)
            watcher.start()
            rounds, pusher, upkeep, syncer = Rounds(opened), Pusher(opened), Upkeep(opened), Syncer(opened)
            stack.callback(pusher.close)
            stack.callback(upkeep.close)
            stack.callback(syncer.close)
            rounds.start()
            self._stack = stack.pop_all()
        self.rounds, self._watcher, self._pusher = rounds, watcher, pusher
        self._upkeep, self._syncer = upkeep, syncer
        self._absent = None
        self._identity = _identity_of(self.workspace)
        self._place = _place_of_commits(self.workspace)
        logs.say("watching", workspace=str(self.workspace.directory), mode=watcher.mode)

    def close(self) -> None:
        """Commit what is pending and let go of the workspace."""
        try:
            if self.rounds is not None and missing_root(self.workspace) is None:
                self.rounds.flush()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self.rounds = self._watcher = self._pusher = self._upkeep = self._syncer = None
        self._stack.close()

    def event(self, event: Event) -> None:
        """Something may have changed."""
        if self.rounds is None:
            return
        now = time.monotonic()
        with self._guarded():
            if isinstance(event, Rescan) and event.path is None:
                self.rounds.rescan(now)
            elif event.path is not None:
                path = self.workspace.layout.tree_path(event.prefix, event.path)
                if path is not None:
                    self.rounds.dirty(path, now)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """One workspace in trouble ends neither the loop nor the others: it is looked at again in a second.

        A folder that vanishes (unmounted) makes any step fail before `_check` notices.
        """
        try:
            yield
        except (GitmemError, OSError) as error:
            logs.warn("a step failed; everything is looked at again", error=str(error))
            if self.rounds is not None:
                self.rounds.look_again(time.monotonic() + _CHECK)

    def notify(self, notice: Notice) -> None:
        """A hook or an agent told us something."""
        if self.rounds is not None:
            with self._guarded():
                self.rounds.notify(notice, time.monotonic())

    def due(self) -> float:
        """Monotonic seconds at which `tick` wants to be called next."""
        times = [self._next_check]
        if self.rounds is not None and (due := self.rounds.due()) is not None:
            times.append(due)
        if self._pusher is not None and (due := self._pusher.due()) is not None:
            times.append(due)
        others = [other.due() for other in (self._upkeep, self._syncer) if other is not None]
        return min(times + [due for due in others if due is not None])

    def tick(self, now: float) -> None:
        """Do whatever is due."""
        if now >= self._next_check:
            self._next_check = now + _CHECK
            self._check(now)
        if self.rounds is not None and self._pusher is not None:
            with self._guarded():
                self.rounds.step(now)
            head = _head_of(self.rounds)
            self._pusher.step(now, head)
            for other in (self._syncer, self._upkeep):
                if other is not None:
                    other.step(now, head)

    def _check(self, now: float) -> None:
        """Is everything still there and awake?"""
        absent = missing_root(self.workspace)
        if absent is not None or _identity_of(self.workspace) != self._identity:
            self._vanished(str(absent or self.workspace.git.control))
        if self.rounds is None:
            self._come_back()
        elif self._watcher is not None:
            self._watcher.check()
            drift, place = time.time() - time.monotonic(), _place_of_commits(self.workspace)
            if abs(drift - self._drift) > _CLOCK_JUMP or place != self._place:
                self._drift, self._place = drift, place
                with self._guarded():
                    self.rounds.rescan(now)
            with self._guarded():
                self.rounds.look_around(now)

    def _vanished(self, what: str) -> None:
        if self._absent is None:
            logs.warn("workspace missing", path=what)
        self._absent = what
        if self.rounds is not None:
            self._let_go()

    def _come_back(self) -> None:
        """Take the workspace up again, when all of it is back."""
        if missing_root(self.workspace) is not None:
            return
        try:
            self.open()
        except (GitmemError, OSError) as error:
            if self._absent != str(error):
                logs.warn("cannot take the workspace up again", error=str(error))
            self._absent = str(error)
        else:
            logs.say("workspace is back", workspace=str(self.workspace.directory))

    def status(self) -> dict[str, Any]:
        """The live part of `gitmem status` for this workspace."""
        if self.rounds is None or self._watcher is None or self._pusher is None:
            return {"state": "missing", "missing": self._absent}
        watcher = self._watcher
        synced = {"remotes": {}, "waiting": {}} if self._syncer is None else self._syncer.status()
        state = "blocked" if self.rounds.problem is not None else "watching"
        return {
            "state": state,
            **self.rounds.status(),
            "watcher": {"mode": watcher.mode, "restarts": watcher.restarts, "overflows": watcher.overflows},
            "remotes": {**self._pusher.status(), **synced["remotes"]},
            "not_installed": synced["waiting"],
            "engine": {} if self._upkeep is None else self._upkeep.status(),
        }


def _ignored(prefix: str, below: str) -> bool:
    """Paths whose events never matter: the repository's own."""
    del prefix
    return below == ".git" or below.startswith(".git/")


def _identity_of(workspace: Workspace) -> tuple[int, int] | None:
    """Tells a git dir from one that took its place."""
    try:
        stat = os.stat(workspace.git.control)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _head_of(rounds: Rounds) -> str | None:
    """The newest commit, whoever made it; None where there is none, or none that can be read now."""
    try:
        return rounds.opened.repo.head()
    except (GitmemError, OSError):
        return None


def _place_of_commits(workspace: Workspace) -> tuple[str | None, str | None] | None:
    """What decides where commits go: a git operation, and the branch. A change of it is a reason to look at everything."""
    try:
        return operation_in_progress(workspace.git), head_branch(workspace.git)
    except (GitmemError, OSError):
        return None
