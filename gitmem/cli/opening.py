"""What every verb begins with: the workspace named by `-C`, open, and everything on disk committed where the verb needs that."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.actions.capture import Capture, Outcome
from gitmem.edges import gitindex, workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.errors import GitmemError


@contextmanager
def opened_workspace(args: argparse.Namespace) -> Iterator[Opened]:
    """The workspace at or above `-C DIR`, open."""
    with open_workspace(workspace.find(Path(args.directory))) as opened:
        yield opened


def capture_all(opened: Opened, *, allow_loss: bool = False) -> Outcome:
    """Commit everything on disk that is not committed yet, before something else changes it.

    Raises:
        GitmemError: A root is missing.
    """
    capture = Capture(opened)
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
