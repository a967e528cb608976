"""gitmem stop: end the daemon of a workspace; what is pending is committed first."""

import argparse
import os
import signal
import time
from pathlib import Path

HELP = "end the daemon; what is pending is committed first"
_PATIENCE = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""
    parser.epilog = "A daemon that keeps several workspaces stops keeping all of them."


def run(args: argparse.Namespace) -> int:
    """Ask the daemon to end and wait until it has."""
    from gitmem.cli.output import print_json

    answer = stop(Path(args.directory))
    if args.json:
        print_json({"stopped": answer, "already_stopped": answer is None})
    elif answer is None:
        print("no daemon was running")
    else:
        print(f"stopped (pid {answer['pid']})")
    return 0


def stop(directory: Path) -> dict[str, object] | None:
    """Stop the daemon of the workspace at a folder.

    Returns:
        What the daemon said of itself; None when none was running.

    Raises:
        GitmemError: It does not end.
    """
    from gitmem.edges import control, workspace
    from gitmem.edges.process import alive
    from gitmem.errors import GitmemError

    found = workspace.find(directory)
    answer = control.ask(found.git.state, {"do": "ping"})
    if answer is None:
        return None
    pid = int(answer["pid"])
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if not alive(pid):
            return dict(answer)
        time.sleep(0.05)
    raise GitmemError(
        f"the daemon (pid {pid}) does not end", f"See its log: {found.git.state / 'gitmem.log'}"
    )
