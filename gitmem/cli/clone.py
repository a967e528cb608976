"""gitmem clone: the memory of another machine, in a new folder on this one."""

import argparse
from pathlib import Path

HELP = "bring a memory from a remote to this machine, and keep it in step"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("url", help="a folder, file://, ssh://, user@host:path, https:// or git://")
    parser.add_argument("folder", metavar="DIR", help="a folder that is empty or not there yet")
    parser.add_argument(
        "--agent", metavar="NAME", default="native", help="native, nanobot or plain (default: native)"
    )
    parser.add_argument("--name", default="hub", help="name of the remote (default: hub)")
    parser.epilog = """examples:
  gitmem clone git@example.org:me/memory.git ~/agent
A folder that holds a memory already is joined to another one so:
  gitmem init; gitmem remote add hub URL --sync; gitmem sync --join"""


def run(args: argparse.Namespace) -> int:
    """Make the folder, add the remote, sync."""
    from gitmem import syncing
    from gitmem.actions import begin
    from gitmem.cli.output import print_json
    from gitmem.edges import remotes
    from gitmem.edges.opened import open_workspace
    from gitmem.errors import UsageError

    directory = Path(args.folder).expanduser().resolve()
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty", "To join a memory that is there: gitmem clone --help")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = begin.begin(begin.plan(directory, args.agent, None, adopt=False, separate=False))
    remote = remotes.add(place.git.control, args.name, args.url, sync=True)
    with open_workspace(place) as opened:
        done, installed = syncing.cycle(opened, remote)
        count = len(opened.repo.files(opened.repo.head()))
    if args.json:
        print_json(
            {"workspace": str(directory), "commit": done.after, "files": count, "waiting": installed.waiting}
        )
        return 0
    print(f"{directory} holds {count} files, synced with {remote.name} ({remote.url.text}).")
    for path, why in installed.waiting.items():
        print(f"  not on disk: {path}: {why}")
    print("Next: gitmem start  (watch, commit and sync in the background)")
    return 0
