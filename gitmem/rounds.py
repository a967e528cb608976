"""What the daemon does for one open workspace, step by step: batches, scans, replays, the index, backups.

Every step runs on the loop's thread. `due` says when the next one is, `step` does it; what fails is put back and tried again
later, so nothing is forgotten.
"""

import os
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gitmem import logs
from gitmem.actions import recover, replay
from gitmem.actions.capture import Capture, Outcome
from gitmem.core import guard
from gitmem.core.model import Batch, CommitInfo, Finding, Kind, Notice, PathClass, TreePath
from gitmem.core.quiet import QuietWindow
from gitmem.edges import gitindex
from gitmem.edges.gitindex import Moved
from gitmem.edges.opened import Opened
from gitmem.errors import GitmemError, RepositoryBusy

_RETRY = (1.0, 60.0)
"""First and longest wait, in seconds, after a commit was not possible; doubled each time, stretched by chance."""
_FINDINGS = 50
"""How many findings are remembered for `status`; all of them are in the log."""
_INDEX_DELAY = 0.5
_INDEX_RETRY = 5.0


@dataclass
class Counters:
    """What `status` tells about the work since the daemon started; times are Unix seconds."""

    commits: int = 0
    batches: int = 0
    scans: int = 0
    replays: int = 0
    errors: int = 0
    last_commit: float | None = None
    last_scan: float | None = None


@dataclass
class Problem:
    """Why commits are not possible now, since when (Unix seconds), and when to try again (monotonic seconds).

    With a `lock` file in the way, its end is noticed and does not have to wait for that time.
    """

    text: str
    hint: str | None
    since: float
    delay: float
    again: float
    lock: str | None = None


@dataclass
class _Notable:
    """What the last batches left for a person to look at; what still holds is found again by each scan."""

    held: set[TreePath] = field(default_factory=set)
    waiting: frozenset[TreePath] = frozenset()
    findings: dict[tuple[str, TreePath], Finding] = field(default_factory=dict)
    operation: str | None = None

    def take(self, outcome: Outcome) -> None:
        """Add what a capture found."""
        self.held = (self.held - outcome.moved.keys() - outcome.settled) | set(outcome.held)
        self.waiting = outcome.waiting
        self.operation = outcome.operation
        for finding in outcome.findings:
            self.findings.pop((finding.rule, finding.path), None)
            self.findings[finding.rule, finding.path] = finding
        for key in list(self.findings)[:-_FINDINGS]:
            del self.findings[key]

    def forget_states(self) -> None:
        """Drop what a scan finds again where it still holds."""
        self.held.clear()
        self.findings = {key: finding for key, finding in self.findings.items() if key[0] in guard.LASTING}


@dataclass
class _Agenda:
    """When the next step of each sort is due, in monotonic seconds; None for not at all."""

    scan: float | None = None
    replay: float | None = None
    index: float | None = None


class Rounds:
    """The steps for one open workspace."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.counters = Counters()
        self.problem: Problem | None = None
        self._notable = _Notable()
        self._capture = Capture(opened)
        self._window = QuietWindow(opened.settings.settle, opened.settings.max_delay)
        self._agenda = _Agenda()
        self._moved: dict[TreePath, Moved] = {}

    def start(self) -> None:
        """Recover, commit what changed while nobody watched, replay what a crash interrupted."""
        recovered = recover.recover(self.opened)
        for commit in recovered.finished:
            logs.say("finished an interrupted operation", commit=commit.sha, subject=commit.subject)
        for text in recovered.waiting:
            logs.warn("an interrupted operation waits for the next start", reason=text)
        for lock in recovered.locks:
            logs.say("removed a lock of a killed process of ours", lock=lock)
        for name in recovered.dropped:
            logs.warn(
                "an interrupted operation could not be finished; files are kept as they are", record=name
            )
        if not self.opened.workspace.adopted:
            self._moved |= gitindex.behind(self.opened.repo, self.opened.repo.head())
        else:
            self._moved |= gitindex.lagging(self.opened.repo, self.opened.repo.head())
        if self._moved or gitindex.owing(self.opened.repo):
            self._agenda.index = time.monotonic()
        self.rescan(time.monotonic())
        self._window.notify(time.monotonic())
        self._step_batch(time.monotonic())
        self._step_replay(time.monotonic())

    def dirty(self, path: TreePath, now: float) -> None:
        """A path may have changed. What is never versioned does not disturb the quiet of what is (B52)."""
        if self.opened.classify(path) in (PathClass.LOCAL, PathClass.SECRET):
            return
        self._window.add(path, now)
        try:
            self._capture.peek(path)
        except (GitmemError, OSError) as error:
            logs.warn("could not look at a session at once", path=path, error=str(error))

    def notify(self, notice: Notice, now: float) -> None:
        """Somebody told us that something is complete: no need to wait for quiet."""
        path = None if notice.path is None else self.opened.workspace.layout.from_disk(Path(notice.path))
        if path is not None:
            self._window.add(path, now)
        else:
            self.rescan(now)
        self._window.notify(now)

    def rescan(self, now: float) -> None:
        """Find everything that changed, whatever events were lost. Writers still get their quiet time."""
        self.counters.scans += 1
        self.counters.last_scan = self.opened.clock()
        self._agenda.scan = now + self.opened.settings.scan_interval
        self._notable.forget_states()
        for path in self._capture.scan():
            self._window.add(path, now)

    def look_around(self, now: float) -> None:
        """Notice what people did without touching a file of ours: a lock let go, a branch moved, a conflict settled."""
        problem = self.problem
        if problem is not None and problem.lock is not None and not os.path.lexists(problem.lock):
            problem.again = now
        self.opened.repo.recheck()
        if problem is None:
            for path in self._capture.moved_by_others():
                self._window.add(path, now)

    def look_again(self, at: float) -> None:
        """Have everything looked at anew at a time, after a step that failed."""
        self._agenda.scan = at

    def due(self) -> float | None:
        """Monotonic seconds of the next step; None when there is nothing to do but wait for events."""
        batch = self._window.due
        if batch is not None and self.problem is not None:
            batch = max(batch, self.problem.again)
        times = (batch, self._agenda.scan, self._agenda.replay, self._agenda.index)
        return min((time for time in times if time is not None), default=None)

    def step(self, now: float) -> None:
        """Do whatever is due."""
        agenda = self._agenda
        if agenda.scan is not None and now >= agenda.scan:
            self.rescan(now)
        if self.problem is None or now >= self.problem.again:
            self._step_batch(now)
        if agenda.replay is not None and now >= agenda.replay:
            self._step_replay(now)
        if agenda.index is not None and now >= agenda.index:
            self._step_index(now)

    def flush(self) -> None:
        """Commit everything that is pending, now."""
        now = time.monotonic()
        self.rescan(now)
        self._window.notify(now)
        self._step_batch(now, final=True)
        self._step_index(now)

    def _step_batch(self, now: float, *, final: bool = False) -> None:
        batch = self._window.take(now)
        if batch is None:
            return
        self.counters.batches += 1
        settings = self.opened.settings
        late = {path for path, seen in batch.first_seen.items() if final or now - seen >= settings.max_delay}
        try:
            outcome = self._capture.run(batch.first_seen, overdue=late)
        except (GitmemError, OSError) as error:
            self._trouble(error, batch, now)
            return
        self._settled(outcome, batch, now)

    def _trouble(self, error: GitmemError | OSError, batch: Batch, now: float) -> None:
        """Keep the batch and try again later, ever more slowly."""
        delay = min(self.problem.delay * 2, _RETRY[1]) if self.problem else _RETRY[0]
        since = self.problem.since if self.problem else self.opened.clock()
        hint = error.hint if isinstance(error, GitmemError) else None
        again = now + delay * (1 + random.random() / 4)
        if self.problem is None or self.problem.text != str(error):
            logs.warn("cannot commit", error=str(error), hint=hint)
        lock = error.lock if isinstance(error, RepositoryBusy) else None
        self.problem = Problem(str(error), hint, since, delay, again, lock)
        self.counters.errors += 1
        for path, seen in batch.first_seen.items():
            self._window.put_back(path, seen, now)

    def _settled(self, outcome: Outcome, batch: Batch, now: float) -> None:
        if self.problem is not None:
            logs.say("commits work again", after=self.problem.text)
        self.problem = None
        self._notable.take(outcome)
        for path in outcome.waiting:
            self._window.put_back(path, batch.first_seen.get(path, now), now)
        for finding in outcome.findings:
            logs.warn(finding.text, rule=finding.rule, path=finding.path)
        if outcome.held:
            logs.warn("a mass deletion is held back: see gitmem status", files=len(outcome.held))
        self._count(outcome.commits)
        self._owe_index(outcome.moved, now)

    def _owe_index(self, moved: Mapping[TreePath, Moved], now: float) -> None:
        """The index gets what moved a little later, off the path of commits."""
        gitindex.follow(self._moved, moved)
        if self._moved and self._agenda.index is None:
            # a person's next commit is made from the index: it must not undo ours
            self._agenda.index = now + (0.0 if self.opened.workspace.adopted else _INDEX_DELAY)

    def _count(self, commits: Iterable[CommitInfo]) -> None:
        for commit in commits:
            self.counters.commits += 1
            self.counters.last_commit = self.opened.clock()
            logs.say(f"{commit.sha[:8]} {commit.subject}", commit=commit.sha, kind=str(commit.kind))
            if commit.kind is Kind.CHECKPOINT:
                self._agenda.replay = (
                    self._agenda.replay or time.monotonic() + self.opened.settings.checkpoint_grace
                )

    def _step_replay(self, now: float) -> None:
        """Replay interrupted turns; look again at those that may be live once they have been still for long enough."""
        self._agenda.replay = None
        try:
            for item in replay.interrupted(self.opened):
                if item.live is not None:
                    self._agenda.replay = now + min(60.0, self.opened.settings.checkpoint_grace)
                    continue
                commit = replay.perform(self.opened, item)
                if commit is not None:
                    self._count([commit])
                    self._owe_index(gitindex.moved_by(self.opened.repo, commit.sha), now)
                self.counters.replays += 1
        except RepositoryBusy as error:
            logs.say("a replay waits", reason=str(error))
            self._agenda.replay = now + _RETRY[1]
        except (GitmemError, OSError) as error:
            logs.warn("an interrupted turn could not be replayed", error=str(error))
            self._agenda.replay = now + self.opened.settings.scan_interval

    def _step_index(self, now: float) -> None:
        self._agenda.index = None
        outside = frozenset(self.opened.workspace.layout.mapped)
        if not gitindex.refresh(self.opened.repo, self._moved, outside):
            self._agenda.index = now + _INDEX_RETRY
        self._moved.clear()

    def status(self) -> dict[str, Any]:
        """The live part of `gitmem status`."""
        problem = self.problem
        return {
            "counters": asdict(self.counters),
            "problem": None
            if problem is None
            else {"text": problem.text, "hint": problem.hint, "since": problem.since},
            "held": sorted(self._notable.held),
            "waiting": sorted(self._notable.waiting),
            "findings": [asdict(finding) for finding in self._notable.findings.values()],
            "operation": self._notable.operation,
        }
