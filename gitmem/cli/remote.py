"""gitmem remote: places that backups go to."""

import argparse
from pathlib import Path
from typing import Any

from gitmem.cli.options import common_options

HELP = "add, list or remove places for backups"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    below = [common_options(below=True)]
    what.add_parser("list", parents=below, help="list the remotes (the default)")
    add = what.add_parser("add", parents=below, help="add one; the daemon pushes to it from then on")
    add.add_argument("name")
    add.add_argument("url", help="a folder, file://, ssh://, user@host:path, https:// or git://")
    add.add_argument("--create", action="store_true", help="make a bare repository at a local path")
    add.add_argument(
        "--sync", action="store_true", help="also take in what other machines push there, not only back up"
    )
    remove = what.add_parser("remove", parents=below, help="forget one; nothing is deleted there")
    remove.add_argument("name")
    for word, text in _DECISIONS.items():
        what.add_parser(word, parents=below, help=text).add_argument("name")
    parser.epilog = (
        "examples:\n  gitmem remote add backup /mnt/disk/memory.git --create\n"
        "  gitmem remote add server git@example.org:me/memory.git\n"
        "Passwords and tokens never go into the URL: git's credential helper is asked, or set GITMEM_TOKEN,\n"
        "or write a line https://USER:TOKEN@HOST into the file `credentials` (mode 0600) in the configuration folder."
    )


_DECISIONS = {
    "sync": "from now on also take in what other machines push there",
    "backup": "from now on only push there",
    "accept": "somebody rewrote its history: build on the new one; ours stays under refs/gitmem/pre-join/",
    "restore": "somebody rewrote its history: merge, which puts what was removed back",
}


def run(args: argparse.Namespace) -> int:
    """Add, remove or list."""
    from gitmem.cli.output import print_json
    from gitmem.edges import remotes, workspace

    place = workspace.find(Path(args.directory))
    if args.what == "add":
        _check(args, place.directory)
        remote = remotes.add(place.git.control, args.name, args.url, sync=args.sync)
        text = f"Backups go to {remote.name} ({remote.url.text}) from now on. Push at once with: gitmem push"
        if args.sync:
            text = f"{remote.name} ({remote.url.text}) is synced with from now on. Sync at once with: gitmem sync"
    elif args.what == "remove":
        remote = remotes.remove(place.git.control, args.name)
        text = f"{remote.name} is forgotten; what lies at {remote.url.text} stays there."
    elif args.what in ("sync", "backup"):
        remote = remotes.set_sync(place.git.control, args.name, sync=args.what == "sync")
        text = f"{remote.name} is {'synced with' if remote.sync else 'a backup, and only pushed to,'} from now on."
    elif args.what in ("accept", "restore"):
        remote = remotes.get(place.git.control, args.name)
        text = _after_rewrite(args, remote)
    else:
        return _list(args, place.git.control)
    if args.json:
        print_json({"name": remote.name, "url": remote.url.text, "done": args.what})
    else:
        print(text)
    return 0


def _check(args: argparse.Namespace, directory: Path) -> None:
    from gitmem.core import remote_url
    from gitmem.core.remote_url import Scheme
    from gitmem.edges import bare
    from gitmem.errors import UsageError

    url = remote_url.parse(args.url)
    if url.scheme is not Scheme.PATH:
        if args.create:
            raise UsageError(
                "--create makes a repository at a local path only", "Create it on the server first."
            )
        return
    path = Path(url.path).expanduser().absolute()
    if bare.is_inside(path, directory):
        raise UsageError(f"{path} lies inside the workspace", "A backup belongs on another disk or machine.")
    if args.create:
        bare.create(path)
    bare.check(path)


def _list(args: argparse.Namespace, git_dir: Path) -> int:
    from gitmem.cli.output import print_json
    from gitmem.edges import remotes

    found = remotes.load(git_dir)
    if args.json:
        print_json(
            [
                {"name": place.name, "url": place.url.text, "created": place.created, "sync": place.sync}
                for place in found
            ]
        )
        return 0
    for remote in found:
        print(f"{remote.name:<12} {'sync  ' if remote.sync else 'backup'} {remote.url.text}")
    if not found:
        print("No remotes. Add one with: gitmem remote add NAME URL")
    return 0


def _after_rewrite(args: argparse.Namespace, remote: Any) -> str:
    """Carry out what a person decided about a remote whose history was rewritten."""
    from gitmem import syncing
    from gitmem.actions import install, sync
    from gitmem.cli.opening import opened_workspace
    from gitmem.edges import incoming

    with opened_workspace(args) as opened:
        if args.what == "accept":
            way, commit_all = syncing.Way(opened, remote), syncing.committer(opened)
            head = sync.accept(opened, remote, way, commit_all)
            install.install(opened)
            syncing.learn(opened)
            return f"The branch is at {head[:8]} now, on top of what {remote.name} holds. Next: gitmem sync"
        incoming.forget(opened, remote)
    return f"{remote.name} is looked at afresh. Next: gitmem sync {remote.name}"
