"""Entries of the history queue on the screen or as JSON."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.actions.dropped import HISTORY, Dropped, dropped
from gitmem.cli.look import commits
from gitmem.cli.output import Part, Screen, print_json, screen
from gitmem.core import history
from gitmem.core.describe.words import count
from gitmem.core.history import Entry
from gitmem.core.model import TreePath
from gitmem.core.printable import inline, printable
from gitmem.edges import files
from gitmem.edges.workspace import Workspace
from gitmem.errors import UsageError

_DREAM_CURSOR = "memory/.dream_cursor"
_TAIL = 10

_Item = tuple[Entry, Dropped | None]
"""An entry, and how it left the queue; None for one that is in it."""


@dataclass(frozen=True)
class _Queue:
    """The queue as it is on disk, with entries of the past where they are asked for.

    Attributes:
        items: By cursor.
        dreamed: The last cursor that Dream has processed.
        problems: A sentence for each damaged line.
    """

    items: list[_Item]
    dreamed: int
    problems: tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """Print the entries that match; none at all is no failure."""
    text = _text(args)
    queue = _read(args)
    items = [item for item in queue.items if _matches(item[0], args, text)]
    most = args.max_count if args.max_count is not None else _TAIL if args.what == "tail" else len(items)
    items = items[len(items) - min(most, len(items)) :]
    if args.json:
        rows = [_as_json(item, queue.dreamed) for item in items]
        print_json({"dream_cursor": queue.dreamed, "entries": rows, "problems": list(queue.problems)})
        return 0
    with screen(args) as out:
        _print(out, args, items, queue.dreamed, text)
    _remark(queue, items)
    return 0


def _text(args: argparse.Namespace) -> str:
    """What is searched for; empty where every entry counts."""
    text = " ".join([*args.text, *args.after])
    if args.what == "search" and not text:
        raise UsageError("what shall be searched for?", "Such as: gitmem history search backups")
    if args.what != "search" and text:
        raise UsageError(f"{args.what} takes no text", f"Search for it with: gitmem history search {text}")
    return text.casefold()


def _read(args: argparse.Namespace) -> _Queue:
    with commits.reading(args) as (workspace, repo):
        data = _bytes(workspace, HISTORY)
        queue = history.parse(data)
        items: list[_Item] = [(entry, None) for entry in queue.entries]
        if args.past:
            items += [(item.entry, item) for item in dropped(repo, data)]
            items.sort(key=lambda item: item[0].cursor)
        dreamed = history.parse_cursor(_bytes(workspace, _DREAM_CURSOR)) or 0
    return _Queue(items, dreamed, queue.problems)


def _bytes(workspace: Workspace, path: TreePath) -> bytes:
    file = files.read_stable(*workspace.layout.place(path)).file
    return b"" if file is None else file.data


def _matches(entry: Entry, args: argparse.Namespace, text: str) -> bool:
    if args.above is not None and entry.cursor <= args.above:
        return False
    if args.session is not None and entry.session_key != args.session:
        return False
    return text in entry.content.casefold()


def _print(out: Screen, args: argparse.Namespace, items: Sequence[_Item], dreamed: int, text: str) -> None:
    width = max((len(str(entry.cursor)) for entry, _ in items), default=0)
    keys = max((len(inline(entry.session_key or "")) for entry, _ in items), default=0)
    room = shutil.get_terminal_size().columns if out.terminal else None
    for number, (entry, drop) in enumerate(items):
        state = ("dreamed", "dim") if entry.cursor <= dreamed else ("new    ", "green")
        when = f"{inline(entry.timestamp):<16}"
        head: list[Part] = [(f"{entry.cursor:>{width}}", "yellow"), f"  {when}  ", state]
        if keys:
            head.append(f"  {inline(entry.session_key or ''):<{keys}}")
        if drop is not None:
            head.append((_gone(drop), "red"))
        if args.full:
            out.line(*head)
            for line in printable(entry.content).rstrip("\n").split("\n"):
                out.line(f"    {line}".rstrip())
            if number + 1 < len(items):
                out.line()
            continue
        used = sum(len(part) if isinstance(part, str) else len(part[0]) for part in head)
        said = _line_of(entry, text)
        rest = said if room is None else said[: max(20, room - used - 2)]
        out.line(*head, f"  {rest}")


def _gone(drop: Dropped) -> str:
    return f"  [compacted away in {drop.commit.sha[:8]}]" if drop.commit else "  [dropped, not committed yet]"


def _line_of(entry: Entry, text: str) -> str:
    """The line of an entry to show: the first that holds what is searched for, else the first that is not blank."""
    lines = [line.strip() for line in printable(entry.content).split("\n") if line.strip()]
    return next((line for line in lines if text in line.casefold()), lines[0] if lines else "")


def _remark(queue: _Queue, items: Sequence[_Item]) -> None:
    """Say what the list itself does not: damage, and why there is nothing."""
    if not items:
        nothing = (
            "No entry matches." if queue.items else "No history entries yet: gitmem consolidate makes them."
        )
        sys.stderr.write(f"{nothing}\n")
    if queue.problems:
        damaged = count(len(queue.problems), "damaged line")
        sys.stderr.write(f"{HISTORY}: {damaged}, kept as they are and passed over\n")
        sys.stderr.writelines(f"  {problem}\n" for problem in queue.problems)


def _as_json(item: _Item, dreamed: int) -> dict[str, Any]:
    entry, drop = item
    return {
        "cursor": entry.cursor,
        "timestamp": entry.timestamp,
        "session": entry.session_key,
        "processed": entry.cursor <= dreamed,
        "content": entry.content,
        "present": drop is None,
        "dropped_by": None if drop is None or drop.commit is None else drop.commit.sha,
    }
