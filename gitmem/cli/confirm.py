"""gitmem confirm: commit a mass deletion that was held back."""

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.core.model import TreePath
    from gitmem.edges.opened import Opened

HELP = "commit a mass deletion that was held back"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--dry-run", action="store_true", help="list the files and do nothing")
    parser.epilog = "When the files should come back instead: gitmem restore . --at HEAD"


def run(args: argparse.Namespace) -> int:
    """List or commit what is held back."""
    from gitmem.actions.capture import Outcome
    from gitmem.cli.opening import capture_all, opened_workspace
    from gitmem.cli.output import print_json

    with opened_workspace(args) as opened:
        held = gone(opened) if args.dry_run else capture_all(opened).held
        outcome = Outcome() if args.dry_run or not held else capture_all(opened, allow_loss=True)
    subjects = [f"{commit.sha[:8]} {commit.subject}" for commit in outcome.commits]
    if args.json:
        print_json({"held": list(held), "commits": [commit.sha for commit in outcome.commits]})
        return 0
    if not held:
        print("Nothing is held back.")
    for path in held if args.dry_run else ():
        print(f"gone  {path}")
    for subject in subjects:
        print(subject)
    return 0


def gone(opened: "Opened") -> "tuple[TreePath, ...]":
    """Files of the branch that are not on disk."""
    files = opened.repo.files(opened.repo.head())
    return tuple(path for path in sorted(files) if not os.path.lexists(opened.workspace.layout.disk(path)))
