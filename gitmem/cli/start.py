"""gitmem start: keep workspaces in the background."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HELP = "watch and commit in the background"
_PATIENCE = 60.0
"""Seconds for a daemon to come up: it hashes the whole workspace first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("folders", nargs="*", metavar="DIR", help="workspaces; the one at -C by default")
    parser.epilog = "One process keeps all the workspaces named. See: gitmem status, gitmem stop"


def run(args: argparse.Namespace) -> int:
    """Start a daemon unless one is running already."""
    from gitmem.cli.output import print_json
    from gitmem.edges import control, workspace

    places = (workspace.find(Path(folder)) for folder in args.folders or [args.directory])
    found = list({place.identity: place for place in places}.values())
    new = [place for place in found if control.ask(place.git.state, {"do": "ping"}) is None]
    pid = _start([place.directory for place in new], [place.git.state for place in new]) if new else None
    started = [str(place.directory) for place in new]
    already = [str(place.directory) for place in found if place not in new]
    if args.json:
        print_json({"started": started, "already_running": already, "pid": pid})
        return 0
    for directory in started:
        print(f"watching {directory} (pid {pid})")
    for directory in already:
        print(f"already watching {directory}")
    return 0


def _start(directories: list[Path], states: list[Path]) -> int:
    """Start the daemon and wait until it answers for every workspace.

    Raises:
        GitmemError: It ended at once; what it said is in the message.
    """
    from gitmem.edges import control
    from gitmem.errors import GitmemError

    words = [
        sys.executable,
        "-m",
        "gitmem",
        "watch",
        "--quiet",
        *(str(directory) for directory in directories),
    ]
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            cwd="/",
        )
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if child.poll() is not None:
                said.seek(0)
                text = said.read().decode("utf-8", "replace").strip().removeprefix("gitmem: ")
                raise GitmemError(text or f"the daemon ended with code {child.returncode}")
            if all(control.ask(state, {"do": "ping"}, timeout=1.0) is not None for state in states):
                return child.pid
            time.sleep(0.05)
    raise GitmemError(
        "the daemon does not answer yet", "It may still be reading the workspace: gitmem status"
    )
