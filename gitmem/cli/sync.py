"""gitmem sync: take in what other machines wrote, and give them ours."""

import argparse
from typing import Any

HELP = "exchange memory with other machines through a remote, now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "remotes", nargs="*", metavar="NAME", help="remotes; all that are synced with by default"
    )
    parser.add_argument(
        "--join", action="store_true", help="also put two memories together that have nothing in common"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    parser.epilog = """examples:
  gitmem remote add hub git@example.org:me/memory.git --sync
  gitmem sync
The daemon syncs by itself. Both sides' changes are kept; what could not be decided is listed by gitmem conflicts.
A session that its agent has just saved gets what was merged when it is at rest."""


def run(args: argparse.Namespace) -> int:
    """Sync with each remote in turn."""
    from gitmem.cli.opening import opened_workspace
    from gitmem.cli.output import print_json
    from gitmem.edges import remotes
    from gitmem.errors import NotFound

    rows: list[dict[str, Any]] = []
    with opened_workspace(args) as opened:
        git_dir = opened.repo.git.control
        chosen = [remotes.get(git_dir, name) for name in args.remotes] or [
            remote for remote in remotes.load(git_dir) if remote.sync
        ]
        if not chosen:
            raise NotFound(
                "no remote is synced with",
                "Add one: gitmem remote add NAME URL --sync, or: gitmem remote sync NAME",
            )
        for remote in chosen:
            rows.append(_plan(opened, remote) if args.dry_run else _sync(opened, remote, join=args.join))
            if not args.json:
                for line in _lines(rows[-1]):
                    print(line)
    if args.json:
        print_json({"dry_run": args.dry_run, "remotes": rows})
    return 0


def _plan(opened: Any, remote: Any) -> dict[str, Any]:
    from gitmem import syncing
    from gitmem.edges import incoming, tip

    here = tip.current(opened)
    theirs = syncing.Way(opened, remote).fetch(here.ref)
    seen = incoming.judge(opened, remote, here.ref, theirs)
    ours, new = syncing.distance(opened, here.sha, theirs)
    return {"name": remote.name, "dry_run": True, "seen": seen.value, "ours": ours, "theirs": new}


def _sync(opened: Any, remote: Any, *, join: bool) -> dict[str, Any]:
    from gitmem import syncing

    done, installed = syncing.cycle(opened, remote, join=join)
    return {
        "name": remote.name,
        "decision": done.decision.name.lower(),
        "before": done.before,
        "after": done.after,
        "pushed": done.pushed,
        "installed": list(installed.done),
        "waiting": installed.waiting,
        "conflicts": list(done.conflicts),
    }


_SAID = {
    "same": "nothing new on either side",
    "push": "it got what was new here",
    "forward": "took in what was new there",
    "adopt": "took in what was new there",
    "merge": "both had something new; it is put together",
}


def _lines(row: dict[str, Any]) -> list[str]:
    if row.get("dry_run"):
        return [f"{row['name']}: {row['ours']} commits to give, {row['theirs']} to take in ({row['seen']})"]
    lines = [f"{row['name']}: {_SAID[row['decision']]}"]
    if row["installed"]:
        lines.append(f"  {len(row['installed'])} files changed on disk")
    lines += [f"  {path} waits: {why}" for path, why in row["waiting"].items()]
    if row["conflicts"]:
        lines.append(f"  both changed the same place in {', '.join(row['conflicts'])}; see: gitmem conflicts")
    return lines
