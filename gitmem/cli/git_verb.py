"""gitmem git: plain git with the right repository and working tree, wherever they lie."""

import argparse
import os
import shutil
from pathlib import Path

HELP = "run plain git on the memory's repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after the verb goes to git."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="ARGS", help="words for git")
    parser.epilog = "examples:\n  gitmem git log -p\n  gitmem git fsck --full\n  gitmem git status"


def run(args: argparse.Namespace) -> int:
    """Become git."""
    from gitmem.edges import workspace
    from gitmem.errors import GitmemError

    found = workspace.find(Path(args.directory))
    program = shutil.which("git")
    if program is None:
        raise GitmemError("git is not installed", "gitmem itself does not need it: gitmem log, show, diff")
    words = [program, f"--git-dir={found.git.control}", f"--work-tree={found.directory}", *args.words]
    os.chdir(found.directory)
    os.execv(program, words)  # noqa: S606  becoming git is the whole purpose, and no shell is involved
