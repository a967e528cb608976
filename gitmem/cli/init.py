"""gitmem init: make a folder a workspace and take its first commit."""

import argparse
from pathlib import Path
from typing import Any

HELP = "keep the memory in a folder from now on"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "folder", nargs="?", metavar="DIR", help="the agent's workspace; the current folder by default"
    )
    parser.add_argument("--agent", metavar="NAME", help="native, nanobot or plain; recognised by default")
    parser.add_argument(
        "--sessions", type=Path, metavar="DIR", help="the agent's session folder, where it lies outside"
    )
    parser.add_argument(
        "--adopt", action="store_true", help="use the git repository that is already in the folder"
    )
    parser.add_argument("--separate", action="store_true", help="keep the history outside the folder")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    parser.epilog = """examples:
  gitmem init
  gitmem init ~/.nanobot/workspace
  gitmem init --sessions ~/.nanobot/sessions/ID"""


def run(args: argparse.Namespace) -> int:
    """Plan, say, and do it."""
    from gitmem.actions import begin
    from gitmem.cli.opening import capture_all
    from gitmem.cli.output import print_json
    from gitmem.edges.opened import open_workspace

    directory = Path(args.folder or args.directory).expanduser().absolute()
    plan = begin.plan(
        directory.resolve(), args.agent, args.sessions, adopt=args.adopt, separate=args.separate
    )
    facts: dict[str, Any] = {
        "workspace": str(plan.layout.directory),
        "agent": plan.layout.agent,
        "roots": {prefix or ".": str(root) for prefix, root in plan.layout.roots.items()},
        "git_dir": str(plan.git_dir),
        "adopted": plan.adopted,
        "reason": plan.reason,
        "already": plan.existing is not None,
    }
    if args.dry_run:
        _tell(args, facts, files=None)
        return 0
    with open_workspace(begin.begin(plan)) as opened:
        outcome = capture_all(opened)
        facts["files"] = len(opened.repo.files(opened.repo.head()))
        facts["commits"] = [commit.sha for commit in outcome.commits]
        facts["findings"] = [f"{finding.path}: {finding.text}" for finding in outcome.findings]
    if args.json:
        print_json(facts)
        return 0
    _tell(args, facts, files=facts["files"])
    return 0


def _tell(args: argparse.Namespace, facts: dict[str, Any], files: int | None) -> None:
    from gitmem.agents import nanobot
    from gitmem.cli.output import print_json

    if args.json:
        print_json(facts)
        return
    verb = "is already kept" if facts["already"] else "would be kept" if files is None else "is kept now"
    print(f"{facts['workspace']} {verb}.")
    print(f"  agent     {facts['agent']}")
    for prefix, root in facts["roots"].items():
        if prefix != ".":
            print(f"  {prefix:<9} {root}")
    print(f"  history   {facts['git_dir']} ({facts['reason']})")
    if files is not None:
        print(f"  files     {files} under history")
    for finding in facts.get("findings", ()):
        print(f"  note      {finding}")
    if (
        facts["agent"] == nanobot.NAME
        and nanobot.misses_sessions(Path(facts["workspace"]))
        and "sessions" not in facts["roots"]
    ):
        print(
            "  note      its sessions lie outside and were not found; name them: gitmem init --sessions DIR"
        )
    if files is not None:
        print(
            "Next: gitmem start  (watch and commit in the background), gitmem log, gitmem remote add NAME URL"
        )
