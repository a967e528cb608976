"""gitmem conflicts: places that two machines changed in different ways, and what to do about them."""

import argparse
from typing import Any

from gitmem.cli.options import common_options

HELP = "show places that two machines changed in different ways, and settle them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    below = [common_options(below=True)]
    what.add_parser("list", parents=below, help="list them (the default)")
    show = what.add_parser("show", parents=below, help="show both texts of one")
    show.add_argument("id", help="the first characters of its id")
    resolve = what.add_parser(
        "resolve", parents=below, help="take one off the list; the files stay as they are"
    )
    resolve.add_argument("ids", nargs="*", metavar="ID", help="their ids; --all for all of them")
    resolve.add_argument("--all", action="store_true", help="all that are listed")
    parser.epilog = """examples:
  gitmem conflicts
  gitmem conflicts show 1f3a
  gitmem conflicts resolve 1f3a
Nothing is lost meanwhile: both texts stand in the file, or the losing version of a whole file is kept as a copy.
Mend the file as you like, then take the conflict off the list."""


def run(args: argparse.Namespace) -> int:
    """List, show or settle."""
    from gitmem import syncing
    from gitmem.actions import conflicts
    from gitmem.cli.opening import opened_workspace
    from gitmem.cli.output import print_json
    from gitmem.errors import UsageError

    with opened_workspace(args) as opened:
        found = conflicts.listed(opened)
        if args.what == "show":
            return _show(args, conflicts.chosen(found, args.id))
        if args.what == "resolve":
            if not args.ids and not args.all:
                raise UsageError("name what is settled", "gitmem conflicts resolve ID, or --all")
            settled = found if args.all else [conflicts.chosen(found, name) for name in args.ids]
            commit = conflicts.settle(opened, settled, syncing.committer(opened))
            syncing.learn(opened)
            if args.json:
                print_json(
                    {
                        "settled": [item.id for item in settled],
                        "commit": None if commit is None else commit.sha,
                    }
                )
            elif commit is None:
                print("No conflicts.")
            else:
                print(f"{commit.sha[:8]} {commit.subject}")
            return 0
    if args.json:
        print_json({"conflicts": [item.as_json() for item in found]})
    elif not found:
        print("No conflicts.")
    for item in () if args.json else found:
        print(f"{item.id[:8]}  {item.kind:<15} {item.path}{f' (copy: {item.copy})' if item.copy else ''}")
    return 0


def _show(args: argparse.Namespace, item: Any) -> int:
    from gitmem.cli.output import print_json, screen

    if args.json:
        print_json(item.as_json())
        return 0
    with screen(args) as out:
        out.line(f"{item.path}: {item.kind}")
        out.line("before:" if item.base is not None else "before: (nothing)")
        for text in [] if item.base is None else [item.base]:
            out.line(f"  {text}")
        for text in item.values:
            out.line("one side:")
            out.line(f"  {text or '(removed)'}")
        if item.copy:
            out.line(f"the other version: gitmem cat {item.copy}")
    return 0
