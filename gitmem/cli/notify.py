"""gitmem notify: tell the daemon that something is complete, so that it need not wait for quiet. For hooks."""

import argparse
from pathlib import Path

HELP = "tell the daemon that a save is complete (for hooks)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "event", nargs="?", default="changed", help="what happened, for example session-saved"
    )
    parser.add_argument("--path", help="the file it happened to")
    parser.add_argument("--session", metavar="KEY", help="the session it happened to")
    parser.epilog = (
        "It never fails for want of a daemon: the watcher, or the next start, sees the file anyway."
    )


def run(args: argparse.Namespace) -> int:
    """Send one line to the daemon; exit 0 also when nobody listens."""
    from gitmem.cli.output import print_json
    from gitmem.edges import control, workspace

    found = workspace.find(Path(args.directory))
    request = {"do": "notify", "event": args.event, "path": args.path, "session": args.session}
    if args.path is not None:
        request["path"] = str(Path(args.path).absolute())
    heard = control.ask(found.git.state, request, timeout=2.0) is not None
    if args.json:
        print_json({"heard": heard})
    return 0
