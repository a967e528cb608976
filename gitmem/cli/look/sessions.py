"""Sessions on the screen or as JSON: the list of them, and the messages of one."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from gitmem.actions.sessions import Known
from gitmem.cli.output import Part, print_json, relative_time, screen
from gitmem.core import jsonl
from gitmem.core.describe.words import count
from gitmem.core.message import shortened
from gitmem.core.printable import inline
from gitmem.core.recorddiff import describe
from gitmem.edges import localtime

_TITLE = 40
_ROLES = {"user": "cyan", "assistant": "green", "tool": "dim", "system": "yellow", "unreadable": "red"}


def list_all(args: argparse.Namespace, found: Sequence[Known]) -> int:
    """Print a line for each session; none at all is no failure."""
    if args.json:
        print_json([_facts(item) for item in found])
        return 0
    if not found:
        sys.stderr.write("No sessions here.\n")
        return 0
    now = localtime.now().timestamp()
    keys = [inline(item.key) for item in found]
    width = max(len(key) for key in keys)
    with screen(args) as out:
        for item, key in zip(found, keys, strict=True):
            total, archived = len(item.session.messages), item.session.last_consolidated
            counts = (
                f"{count(total, 'message')}, {archived} archived" if archived else count(total, "message")
            )
            line: list[Part] = [(f"{key:<{width}}", "yellow"), f"  {counts:<28} "]
            line.append(f"{localtime.at(item.saved):%Y-%m-%d %H:%M}  {relative_time(item.saved, now):<14}")
            line += _remarks(item)
            if item.title:
                line.append(f" {inline(shortened(item.title, _TITLE))}")
            out.line(*line)
    return 0


def _remarks(item: Known) -> list[Part]:
    """What is not as usual: a turn under way, damage."""
    found: list[Part] = []
    if item.turn is not None:
        found.append((f" [mid-turn: {inline(item.turn.phase)}]", "magenta"))
    if item.session.problems:
        found.append((f" [{count(len(item.session.problems), 'problem')}]", "red"))
    return found


def show(args: argparse.Namespace, item: Known) -> int:
    """Print the messages of a session, the user's turns numbered as `fork` counts them."""
    rows = _rows(item)
    total = sum(row["message"] is not None for row in rows)
    if args.max_count is not None:
        rows = rows[len(rows) - min(args.max_count, len(rows)) :]
    if args.json:
        messages = [row["message"] for row in rows if row["message"] is not None]
        print_json({**_facts(item), "first": total - len(messages), "conversation": messages})
        return 0
    with screen(args) as out:
        out.line((f"session {inline(item.key)}", "yellow"))
        for name, value in _headers(item):
            out.line(f"{name + ':':<10}{inline(value)}")
        out.line()
        for row in rows:
            word, _, rest = row["text"].partition(" ")
            turn = f"turn {row['turn']}" if row["turn"] else ""
            out.line((f"{turn:<9}", "bold"), (word, _ROLES.get(word, "")), f" {rest}")
            if row["number"] == item.session.last_consolidated and row["message"] is not None:
                out.line((f"--- up to here archived ({row['number']}) ---", "dim"))
    return 0


def _headers(item: Known) -> list[tuple[str, str]]:
    messages, archived = len(item.session.messages), item.session.last_consolidated
    rows = [("File", item.path)]
    if item.title:
        rows.append(("Title", item.title))
    rows.append(("Messages", f"{messages}, {archived} of them archived" if archived else str(messages)))
    rows.append(("Saved", f"{localtime.at(item.saved):%Y-%m-%d %H:%M:%S %z}"))
    if item.turn is not None:
        rows.append(("Turn", f"{item.turn.phase}, {count(item.turn.pending, 'call')} pending"))
    rows += [("Problem", problem) for problem in item.session.problems]
    return rows


def _rows(item: Known) -> list[dict[str, Any]]:
    """The messages and the unreadable lines, in order; `number` and `turn` count from 1, `turn` is 0 elsewhere."""
    rows: list[dict[str, Any]] = []
    number = turn = 0
    for line in jsonl.parse(item.data).lines:
        if line.blank or (line.value is not None and "_type" in line.value):
            continue
        begins = line.value is not None and line.value.get("role") == "user"
        number += line.value is not None
        turn += begins
        rows.append(
            {
                "text": inline(describe(line.record)),
                "message": line.value,
                "number": number,
                "turn": turn if begins else 0,
            }
        )
    return rows


def _facts(item: Known) -> dict[str, Any]:
    turn = item.turn
    return {
        "key": item.key,
        "path": item.path,
        "title": item.title or None,
        "messages": len(item.session.messages),
        "archived": item.session.last_consolidated,
        "saved": localtime.at(item.saved).isoformat(),
        "turn": None if turn is None else {"phase": turn.phase, "pending": turn.pending},
        "problems": list(item.session.problems),
    }
