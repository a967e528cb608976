"""gitmem restart: stop and start the daemon, with the same workspaces."""

import argparse
from pathlib import Path

from gitmem.cli import start

HELP = "stop and start the daemon"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Stop, then start with what was kept before."""
    from gitmem.cli.stop import stop

    kept = stop(Path(args.directory))
    workspaces = kept.get("workspaces") if kept else None
    args.folders = workspaces if isinstance(workspaces, list) else []
    return start.run(args)
