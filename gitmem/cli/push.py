"""gitmem push: back up now."""

import argparse
from typing import Any

HELP = "back up to the remotes now"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("remotes", nargs="*", metavar="NAME", help="remotes; all by default")
    parser.add_argument("--dry-run", action="store_true", help="say what would be pushed and do nothing")
    parser.epilog = "Nothing is ever forced: a remote that holds other commits is left as it is and named."


def run(args: argparse.Namespace) -> int:
    """Commit what is on disk and push."""
    from gitmem.cli.opening import capture_all, opened_workspace
    from gitmem.cli.output import print_json
    from gitmem.edges import remotes
    from gitmem.errors import NotFound, PartlyDone

    rows: list[dict[str, Any]] = []
    with opened_workspace(args) as opened:
        git_dir = opened.repo.git.control
        chosen = [remotes.get(git_dir, name) for name in args.remotes] or remotes.load(git_dir)
        if not chosen:
            raise NotFound("there are no remotes", "Add one with: gitmem remote add NAME URL")
        if not args.dry_run:
            capture_all(opened)
        for remote in chosen:
            rows.append(_push_one(args, opened, remote))
            if not args.json:
                print(_sentence(rows[-1]))
    if args.json:
        print_json({"dry_run": args.dry_run, "remotes": rows})
    failed = [row for row in rows if row["error"]]
    if failed and len(failed) < len(rows):
        raise PartlyDone(f"{len(failed)} of {len(rows)} remotes did not get everything", "gitmem status")
    return 1 if failed else 0


def _push_one(args: argparse.Namespace, opened: Any, remote: Any) -> dict[str, Any]:
    from gitmem.edges.remote import allowance, push
    from gitmem.errors import RemoteError
    from gitmem.pusher import unpushed

    row: dict[str, Any] = {"name": remote.name, "ahead": unpushed(opened, remote), "refs": [], "error": None}
    if args.dry_run:
        return row
    try:
        result = push(
            opened.repo.git.control, remote, deadline=allowance(20_000_000, opened.settings.push_deadline)
        )
    except RemoteError as error:
        return {**row, "error": str(error), "state": error.state, "hint": error.hint}
    refs = [{"ref": ref.ref, "outcome": ref.outcome.value, "commit": ref.ours} for ref in result.refs]
    return {**row, "ahead": False, "refs": refs, "objects": result.objects, "notes": list(result.notes)}


def _sentence(row: dict[str, Any]) -> str:
    if row["error"]:
        hint = f"\n  {row['hint']}" if row.get("hint") else ""
        return f"{row['name']}: {row['state']}: {row['error']}{hint}"
    if "objects" not in row:
        return f"{row['name']}: {'would be pushed' if row['ahead'] else 'has everything'}"
    moved = [ref for ref in row["refs"] if ref["outcome"] == "pushed"]
    return f"{row['name']}: {'pushed ' + str(row['objects']) + ' objects' if moved else 'has everything already'}"
