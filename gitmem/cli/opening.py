"""What every verb begins with: the workspace named by `-C`, open, and everything on disk committed where the verb needs that."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.actions.capture import Capture, Outcome
from gitmem.edges import gitindex, workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.engine import Engine
from gitmem.errors import GitmemError


@contextmanager
def opened_workspace(args: argparse.Namespace) -> Iterator[Opened]:
    """The workspace at or above `-C DIR`, open."""
    with open_workspace(workspace.find(Path(args.directory))) as opened:
        yield opened


def engine(opened: Opened) -> Engine:
    """The memory engine of a workspace, committing as every command does."""
    capture = Capture(opened)
    return Engine(
        opened,
        commit_all=lambda: _settle(opened, capture),
        committed=lambda commit: refresh_index(
            opened, Outcome(moved=gitindex.moved_by(opened.repo, commit.sha))
        ),
    )


def _settle(opened: Opened, capture: Capture) -> None:
    _capture(opened, capture, allow_loss=False)


def capture_all(opened: Opened, *, allow_loss: bool = False) -> Outcome:
    """Commit everything on disk that is not committed yet, before something else changes it.

    Raises:
        GitmemError: A root is missing.
    """
    return _capture(opened, Capture(opened), allow_loss=allow_loss)


def _capture(opened: Opened, capture: Capture, *, allow_loss: bool) -> Outcome:
    paths = capture.scan()
    outcome = capture.run(paths, overdue=paths, allow_loss=allow_loss)
    if outcome.missing is not None:
        raise GitmemError(
            f"{outcome.missing} is missing", "Mount or put back the folder; nothing was committed."
        )
    refresh_index(opened, outcome)
    return outcome


def refresh_index(opened: Opened, outcome: Outcome) -> None:
    """Keep `git status` clean after commits of our own; a held lock is left to the daemon."""
    gitindex.refresh(opened.repo, outcome.moved, frozenset(opened.workspace.layout.mapped))
