"""gitmem status: is the memory safe right now?"""

import argparse
import time
from pathlib import Path
from typing import Any

HELP = "show whether everything is committed and backed up"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--exit-code", action="store_true", help="exit 1 when something needs a look")


def run(args: argparse.Namespace) -> int:
    """Gather and print."""
    from gitmem.actions import report
    from gitmem.cli.output import print_json
    from gitmem.edges import workspace

    facts = report.gather(workspace.find(Path(args.directory)))
    if args.json:
        print_json(facts)
    else:
        for line in _lines(facts):
            print(line)
    return 1 if args.exit_code and facts["attention"] else 0


def _lines(facts: dict[str, Any]) -> list[str]:
    daemon = facts["daemon"]
    watching = "not running; start it with: gitmem start"
    if daemon is not None:
        watching = f"{daemon['state']} (pid {daemon['pid']}, {daemon.get('watcher', {}).get('mode', '-')})"
    head = facts["head"]
    lines = [
        f"workspace  {facts['workspace']} ({facts['agent']})",
        f"history    {facts['git_dir']}",
        f"daemon     {watching}",
        "last       none yet"
        if head is None
        else f"last       {head['sha'][:8]} {head['subject']} ({_ago(head['time'])})",
    ]
    lines += [f"remote     {name}: {_remote(row)}" for name, row in facts["remotes"].items()]
    if not facts["remotes"]:
        lines.append("remote     none: the memory lives on this disk only. gitmem remote add NAME URL")
    lines += _engine(facts["engine"])
    lines += [f"in flight  {row['session']}: {row['phase']}" for row in facts["in_flight"]]
    lines += [f"changed    {path}" for path in facts["changed"][:10]]
    if len(facts["changed"]) > 10:
        lines.append(f"changed    and {len(facts['changed']) - 10} more")
    lines += [f"held back  {path} is gone" for path in facts["held"][:5]]
    if facts["held"]:
        lines.append(
            f"           {len(facts['held'])} files vanished at once; their deletion is not committed"
        )
        lines.append(
            "           bring them back: gitmem restore . --at HEAD    really delete: gitmem confirm"
        )
    lines += [f"attention  {text}" for text in facts["attention"]]
    if not facts["attention"] and not facts["changed"]:
        remotes = facts["remotes"].values()
        safe = bool(remotes) and not any(row["ahead"] for row in remotes)
        lines.append("All is committed and backed up." if safe else "All is committed.")
    return lines


def _engine(engine: dict[str, Any]) -> list[str]:
    """What the memory engine did last, what it cost, and what waits; nothing where it never did anything."""
    last = engine.get("last") or {}
    lines = [
        f"engine     {sort}: {run['outcome']} {_ago(run['at'])}{_cost(run)}"
        for sort, run in sorted(last.items())
        if run
    ]
    if engine.get("unread") and (last or engine.get("state") not in (None, "off")):
        lines.append(f"           {engine['unread']} history entries wait for a Dream")
    if lines and engine.get("state") == "off":
        lines.append(f"           by itself: no, {engine['why']}")
    return lines


def _cost(run: dict[str, Any]) -> str:
    tokens = run["prompt_tokens"] + run["completion_tokens"]
    return f", {tokens} tokens, {run['seconds']:.1f} s" if tokens else ""


def _remote(row: dict[str, Any]) -> str:
    ahead = "commits to push" if row["ahead"] else "has everything"
    return f"{ahead} ({row['url']})" + (f"; {row['state']}: {row['error']}" if row.get("error") else "")


def _ago(when: float) -> str:
    from gitmem.cli.output import relative_time

    return relative_time(when, time.time())
