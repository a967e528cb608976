"""What the engine does by itself, in a process of its own: archive what is too much, compact what is idle, dream when it is time.

`python -m gitmem.chores` takes `{"workspace": DIR}` on its standard input and prints what it did and when to come back. The
daemon never waits for a model: it starts this, looks at it now and then, and may end it at any moment.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from gitmem.core import schedule
from gitmem.core.model import CommitInfo, TreePath
from gitmem.edges import ledger, localtime, saves, workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.engine import Engine, engine
from gitmem.errors import GitmemError, ModelError, WorkspaceLocked

_BUSY = 60.0
"""Seconds after which to try again when another engine is at work."""
_MINUTE = 60.0
_PASSES = 5


def do(opened: Opened, work: Engine) -> dict[str, Any]:
    """Do whatever is due.

    Returns:
        `did`: subjects of the commits; `failure`: why something was not done, or None; `again`: seconds until something is due,
        or None when that needs new commits; `head`: the newest commit it has seen.
    """
    now = opened.clock()
    quiet = schedule.quiet_until(opened.settings.quiet_hours, localtime.at(now))
    if quiet is not None:
        return _result(opened, [], None, quiet.timestamp() - now)
    did: list[str] = []
    learn = work.committed

    def committed(commit: CommitInfo) -> None:
        learn(commit)
        did.append(commit.subject)

    work.committed = committed
    failure = None
    try:
        times = _all(opened, work)
    except WorkspaceLocked:
        times = [_BUSY]
    except GitmemError as error:
        failure, times = str(error), [_after_failure(opened, error)]
    return _result(opened, did, failure, min(times, default=None))


def _result(opened: Opened, did: list[str], failure: str | None, again: float | None) -> dict[str, Any]:
    return {"did": did, "failure": failure, "again": again, "head": opened.repo.head()}


def _all(opened: Opened, work: Engine) -> list[float]:
    """Everything that is due, until the agent has saved nothing meanwhile; gives when something will be due again."""
    times: list[float] = []
    for _ in range(_PASSES):
        work.commit_all()
        before = opened.repo.head()
        times = [*_relieve(work), *_compact(opened, work), *_dream(opened, work)]
        work.commit_all()
        if opened.repo.head() == before:
            return times
    return [*times, _BUSY]


def _relieve(work: Engine) -> list[float]:
    """Archive what is too much for the model or the file. A session that is in use waits."""
    busy = []
    for path in work.sessions():
        if not work.under_pressure(path):
            continue
        if work.in_use(path):
            busy.append(max(1.0, work.opened.settings.session_hot))
            continue
        for _ in work.relieve(path):
            pass
    return busy


def _compact(opened: Opened, work: Engine) -> list[float]:
    """Compact the sessions that have been idle for long enough; gives when the next one will be."""
    ttl = opened.settings.session_ttl
    if not ttl:
        return []
    for path in work.idle(ttl):
        if not work.in_use(path):
            for _ in work.compact(path, patient=True):
                pass
    return [left for path in work.idle(0) if (left := ttl * _MINUTE - _age(opened, path)) > 0]


def _age(opened: Opened, path: TreePath) -> float:
    signature = opened.read(path).signature
    return 0.0 if signature is None else opened.clock() - saves.saved_at(opened.repo.git, path, signature)


def _dream(opened: Opened, work: Engine) -> list[float]:
    """Dream, when entries wait and it is time; gives when it will be."""
    every = opened.settings.dream_every
    if not every or not work.unread() or work.proposal_waits():
        return []
    wait = _wait(opened, every)
    if wait > 0:
        return [wait]
    for _ in work.dream():
        pass
    return [every] if work.unread() else []


def _wait(opened: Opened, every: float) -> float:
    last = ledger.read(opened.repo.git).last.get("dream")
    if last is None:
        return 0.0
    pause = schedule.wait_after_failure(every, last.failures, last.reason) if last.failures else every
    return last.at + pause - opened.clock()


def _after_failure(opened: Opened, error: GitmemError) -> float:
    reason = error.reason if isinstance(error, ModelError) else None
    failures = max((run.failures for run in ledger.read(opened.repo.git).last.values()), default=1)
    return schedule.wait_after_failure(opened.settings.dream_every or _MINUTE * 60, max(1, failures), reason)


def main() -> int:
    """Do the chores of one workspace."""
    os.umask(0o077)
    request = json.loads(sys.stdin.read())
    try:
        with open_workspace(workspace.find(Path(request["workspace"]))) as opened:
            result = do(opened, engine(opened))
    except (GitmemError, OSError) as error:
        result = {"did": [], "failure": str(error), "again": _BUSY, "head": None}
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
