"""What revert, restore and replay share: show a plan, or carry it out and name the way back."""

import argparse
import time
from collections.abc import Callable

from gitmem.actions import undo
from gitmem.actions.capture import Outcome
from gitmem.actions.undo import Plan
from gitmem.cli.look.changes import write
from gitmem.cli.opening import capture_all, refresh_index
from gitmem.cli.output import print_json, screen
from gitmem.core.model import CommitInfo
from gitmem.edges import gitindex
from gitmem.edges.opened import Opened
from gitmem.errors import RepositoryBusy

_TRIES = 5
_PAUSE = 0.3


def carry_out(opened: Opened, args: argparse.Namespace, make: Callable[[], Plan]) -> int:
    """Commit what is on disk, plan, and apply; again when a writer came in between.

    Args:
        opened: The workspace.
        args: `dry_run`, `force` and `json` are read.
        make: Plans from what is committed now.
    """
    if not args.dry_run:
        capture_all(opened)
    plan = make()
    if args.dry_run or not plan.snapshot.files:
        _tell(args, plan, None)
        return 0
    for tries_left in reversed(range(_TRIES)):
        try:
            commit = undo.apply(opened, plan, force=args.force)
            break
        except RepositoryBusy:
            if tries_left == 0:
                raise
            time.sleep(_PAUSE)
            capture_all(opened)
            plan = make()
    learn(opened, commit)
    _tell(args, plan, commit, done=True)
    return 0


def learn(opened: Opened, commit: CommitInfo | None) -> None:
    """Keep `git status` clean after a commit made outside a capture."""
    if commit is None:
        return
    refresh_index(opened, Outcome(moved=gitindex.moved_by(opened.repo, commit.sha)))


def _tell(args: argparse.Namespace, plan: Plan, commit: CommitInfo | None, *, done: bool = False) -> None:
    sha = None if commit is None else commit.sha
    if args.json:
        files = {path: None if file is None else len(file.data) for path, file in plan.snapshot.files.items()}
        print_json({"dry_run": args.dry_run, "commit": sha, "files": files})
        return
    if not plan.snapshot.files:
        print("Nothing to do: the files are like that already.")
        return
    with screen(args) as out:
        write(out, plan.changes, args)
        for line in _last_words(plan, sha, done=done):
            out.line(line)


def _last_words(plan: Plan, sha: str | None, *, done: bool) -> list[str]:
    subject = plan.snapshot.message.subject
    if not done:
        return [f"Nothing was changed. Without --dry-run: {subject}"]
    if sha is None:
        return [f"{len(plan.snapshot.files)} files are back on disk; history had them all."]
    return [f"{sha[:8]} {subject}", f"Take it back with: gitmem revert {sha[:8]}"]
