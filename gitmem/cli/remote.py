"""gitmem remote: places that backups go to."""

import argparse
from pathlib import Path

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
    remove = what.add_parser("remove", parents=below, help="forget one; nothing is deleted there")
    remove.add_argument("name")
    parser.epilog = (
        "examples:\n  gitmem remote add backup /mnt/disk/memory.git --create\n"
        "  gitmem remote add server git@example.org:me/memory.git\n"
        "Passwords and tokens never go into the URL: git's credential helper is asked, or set GITMEM_TOKEN,\n"
        "or write a line https://USER:TOKEN@HOST into the file `credentials` (mode 0600) in the configuration folder."
    )


def run(args: argparse.Namespace) -> int:
    """Add, remove or list."""
    from gitmem.cli.output import print_json
    from gitmem.edges import remotes, workspace

    place = workspace.find(Path(args.directory))
    if args.what == "add":
        _check(args, place.directory)
        remote = remotes.add(place.git.control, args.name, args.url)
        text = f"Backups go to {remote.name} ({remote.url.text}) from now on. Push at once with: gitmem push"
    elif args.what == "remove":
        remote = remotes.remove(place.git.control, args.name)
        text = f"{remote.name} is forgotten; what lies at {remote.url.text} stays there."
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
            [{"name": remote.name, "url": remote.url.text, "created": remote.created} for remote in found]
        )
        return 0
    for remote in found:
        print(f"{remote.name:<12} {remote.url.text}")
    if not found:
        print("No remotes. Add one with: gitmem remote add NAME URL")
    return 0
