"""Syncing with one remote, in a process of its own for the daemon, or at once for `gitmem sync`.

`python -m gitmem.syncing` takes `{"workspace": DIR, "remote": NAME}` on its standard input and prints how it went.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.actions import install, sync
from gitmem.actions.capture import Capture
from gitmem.actions.install import Installed
from gitmem.actions.sync import Synced
from gitmem.edges import generations, gitindex, incoming, remote, remotes, workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.edges.remote import Access, PushRejected
from gitmem.edges.remotes import Remote
from gitmem.edges.wire import Offer
from gitmem.errors import GitmemError, RemoteError

_SIZE_GUESS = 20_000_000
"""Bytes that a transfer may have to carry; its deadline allows for them."""


@dataclass(frozen=True)
class Way:
    """The way to a remote over the network; each transfer in a process with a deadline."""

    opened: Opened
    remote: Remote
    access: Access | None = None

    @property
    def _deadline(self) -> float:
        return remote.allowance(_SIZE_GUESS, self.opened.settings.push_deadline)

    def fetch(self, branch: str) -> str | None:
        """See `Transport.fetch`."""
        git = self.opened.repo.git.control
        found = incoming.fetch(git, self.remote, branch, deadline=self._deadline, access=self.access)
        return found.sha

    def push(self, branch: str, sha: str, theirs: str | None) -> bool:
        """See `Transport.push`: with a lease, so a race is lost and nothing is overwritten."""
        git = self.opened.repo.git.control
        try:
            remote.push(
                git,
                self.remote,
                deadline=self._deadline,
                access=self.access,
                chosen=[Offer(branch, sha, theirs), *_run_state(self.opened)],
            )
        except PushRejected as error:
            moved = [result for result in error.result.refs if result.ref == branch]
            if any(result.outcome.arrived for result in moved):
                return True
            if error.state == "diverged":
                return False
            raise
        return True


def _run_state(opened: Opened) -> list[Offer]:
    """Run state of this host goes along: backed up, never merged."""
    sha = opened.repo.refs.read(opened.inflight_ref)
    return [] if sha is None else [Offer(opened.inflight_ref, sha, None)]


def committer(opened: Opened) -> Callable[[], None]:
    """A function that commits everything on disk and keeps the index in step."""
    capture = Capture(opened)

    def commit_all() -> None:
        paths = capture.scan()
        outcome = capture.run(paths, overdue=paths)
        if outcome.missing is not None:
            raise GitmemError(
                f"{outcome.missing} is missing", "Mount or put back the folder; nothing was done."
            )
        learn(opened)

    return commit_all


def learn(opened: Opened) -> None:
    """Have the index follow the branch, so that `git status` tells only what a person did."""
    repo, head = opened.repo, opened.repo.head()
    moved = gitindex.lagging(repo, head) if opened.workspace.adopted else gitindex.behind(repo, head)
    gitindex.refresh(repo, moved, frozenset(opened.workspace.layout.mapped))


def cycle(
    opened: Opened, place: Remote, *, commit_all: Callable[[], None] | None = None, join: bool = False
) -> tuple[Synced, Installed]:
    """One sync, and what of it could be put on disk now.

    Args:
        opened: The workspace.
        place: The remote.
        commit_all: Commits everything on disk; by default a look at every file.
        join: As for `sync`.
    """
    done = sync.sync(opened, place, Way(opened, place), commit_all or committer(opened), join=join)
    installed = install.install(opened)
    learn(opened)
    return done, installed


def distance(opened: Opened, mine: str | None, theirs: str | None) -> tuple[int, int]:
    """How many commits each side has that the other has not."""
    if mine is None or theirs is None:
        count = sum(1 for _ in opened.repo.history(mine or theirs))
        return (count, 0) if theirs is None else (0, count)
    with generations.graph(opened.repo) as graph:
        return len(graph.only_in(mine, theirs)), len(graph.only_in(theirs, mine))


def _nothing() -> None:
    """The daemon commits. A file that it has not committed yet is not overwritten: it waits."""


def main() -> int:
    """Sync as asked on standard input."""
    os.umask(0o077)
    asked = json.loads(sys.stdin.read())
    result: dict[str, Any]
    try:
        with open_workspace(workspace.find(Path(asked["workspace"]))) as opened:
            place = remotes.get(opened.repo.git.control, asked["remote"])
            done, installed = cycle(opened, place, commit_all=_nothing)
            result = {
                "decision": done.decision.name.lower(),
                "after": done.after,
                "changed": done.before != done.after or done.pushed,
                "waiting": installed.waiting,
                "conflicts": list(done.conflicts),
            }
    except (GitmemError, OSError) as error:
        state = error.state if isinstance(error, RemoteError) else "blocked"
        hint = error.hint if isinstance(error, GitmemError) else None
        result = {"error": str(error), "state": state, "hint": hint}
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
