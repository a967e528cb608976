"""gitmem watch: keep workspaces in the foreground."""

import argparse
from pathlib import Path

HELP = "watch and commit in the foreground"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("folders", nargs="*", metavar="DIR", help="workspaces; the one at -C by default")
    parser.add_argument("--quiet", "-q", action="store_true", help="log to the file only")
    parser.epilog = "Ends with Ctrl-C or SIGTERM; what is pending then is committed first."


def run(args: argparse.Namespace) -> int:
    """Run the loop until it is told to end."""
    from gitmem import logs
    from gitmem.daemon import Daemon
    from gitmem.edges import workspace

    folders = args.folders or [args.directory]
    found = {place.identity: place for place in (workspace.find(Path(folder)) for folder in folders)}
    for place in found.values():
        logs.to_file(place.git.state)
    if not args.quiet:
        logs.to_terminal()
    Daemon(list(found.values())).run()
    return 0
