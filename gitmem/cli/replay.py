"""gitmem replay: turn interrupted turns into messages."""

import argparse
from typing import Any

HELP = "turn interrupted turns into ordinary messages"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="key or file of one session; all by default"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    parser.add_argument(
        "--force", action="store_true", help="also replay turns whose agent may still be running"
    )
    parser.epilog = "No tool is ever run again. The raw checkpoint stays in history: gitmem git log refs/gitmem/inflight/HOST"


def run(args: argparse.Namespace) -> int:
    """Commit what is on disk, then replay."""
    from gitmem.actions import replay
    from gitmem.cli.opening import capture_all, opened_workspace
    from gitmem.cli.output import print_json
    from gitmem.cli.undoing import learn
    from gitmem.errors import NotFound

    rows: list[dict[str, Any]] = []
    with opened_workspace(args) as opened:
        if not args.dry_run:
            capture_all(opened)
        for item in replay.interrupted(opened, force=args.force):
            if args.session not in (None, item.key, item.path):
                continue
            commit = None
            if item.live is None and not args.dry_run:
                commit = replay.perform(opened, item)
                learn(opened, commit)
            made = item.replay
            rows.append(
                {
                    "session": item.key,
                    "path": item.path,
                    "phase": item.phase,
                    "dry_run": args.dry_run,
                    "left_alone": item.live,
                    "assistants": made.assistants,
                    "results": made.results,
                    "interrupted": made.interrupted,
                    "commit": None if commit is None else commit.sha,
                }
            )
    if args.session is not None and not rows:
        raise NotFound(
            f"no session {args.session} has an interrupted turn", "See all of them: gitmem replay --dry-run"
        )
    if args.json:
        print_json({"dry_run": args.dry_run, "sessions": rows})
        return 0
    if not rows:
        print("No interrupted turn.")
    for row in rows:
        counts = f"{row['assistants']} assistant, {row['results']} results, {row['interrupted']} interrupted"
        state = f"left alone: {row['left_alone']}" if row["left_alone"] else _done(row)
        print(f"{row['session']}  {row['phase']}: {counts}; {state}")
    return 0


def _done(row: dict[str, Any]) -> str:
    return (
        f"replayed in {row['commit'][:8]}"
        if row["commit"]
        else "would be replayed"
        if row["dry_run"]
        else "replayed"
    )
