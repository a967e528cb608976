"""gitmem hooks: have other programs work with gitmem."""

import argparse
from pathlib import Path

from gitmem.cli.options import common_options

HELP = "have plain git merge memory as a sync does"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    below = [common_options(below=True)]
    for word, text in (
        ("install", "set it up in this workspace's repository"),
        ("uninstall", "take it out again"),
        ("status", "say whether it is set up"),
    ):
        what.add_parser(word, parents=below, help=text).add_argument("program", choices=("git",))
    parser.epilog = """examples:
  gitmem hooks install git      # git pull and git merge keep both sides' facts, messages and entries
Written are `config` and `info/attributes` of the repository, nothing that syncs. An agent's own hooks: hooks/README.md"""


def run(args: argparse.Namespace) -> int:
    """Set up, take out, or tell."""
    from gitmem.cli.output import print_json
    from gitmem.edges import gitdriver, workspace

    git = workspace.find(Path(args.directory)).git
    if args.what == "install":
        gitdriver.install(git)
    elif args.what == "uninstall":
        gitdriver.uninstall(git)
    installed = gitdriver.status(git)
    if args.json:
        print_json({"program": args.program, "installed": installed})
    else:
        print(f"{args.program}: {'merges as a sync does' if installed else 'not set up'}")
    return 0
