"""Changes of files on the screen and as JSON: the options and the writing that log, show and diff share."""

import argparse
from collections.abc import Iterable
from typing import Any

from gitmem.cli.output import Screen
from gitmem.core.model import Change, TreePath
from gitmem.core.recorddiff import is_readable, readable
from gitmem.core.textdiff import Stat, quoted, stat, unified, unified_bytes

_GRAPH = 40
"""Columns of the `+++---` of --stat."""
_STYLES = {"+": "green", "-": "red", "~": "yellow", "@": "cyan"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options about how changes are shown."""
    parser.add_argument("--stat", action="store_true", help="only count the lines of each file")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="exact lines of .jsonl files too, as a patch that git apply takes (by default one message a line)",
    )
    parser.add_argument(
        "-U", "--unified", type=_context, default=3, metavar="N", help="lines of context (default: 3)"
    )


def _context(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def write(screen: Screen, changes: Iterable[Change], args: argparse.Namespace) -> bool:
    """Write changes as the options say; returns whether there were any."""
    if args.stat:
        return write_stat(screen, [stat(change) for change in changes])
    some = False
    for change in changes:
        some = True
        if is_readable(change) and not args.raw:
            _write_diff(screen, readable(change, args.unified))
        elif screen.terminal or screen.colour:
            _write_diff(screen, unified(change, args.unified))
        else:
            screen.raw(unified_bytes(change, args.unified))
    return some


def _write_diff(screen: Screen, text: str) -> None:
    """Lines with the colour of their sign; those above the first hunk are the header."""
    inside = False
    for line in text.removesuffix("\n").split("\n"):
        header = line.startswith("diff --git ") or not (inside or line.startswith(("@@", "~ ")))
        inside = not header
        screen.line((line, "bold") if header else (line, _STYLES.get(line[:1], "")))


def write_stat(screen: Screen, stats: list[Stat]) -> bool:
    """Write one line a file and a sum, as `git diff --stat` does; returns whether there were any."""
    if not stats:
        return False
    names = [quoted(item.path) for item in stats]
    width = max(len(name) for name in names)
    most = max(item.added + item.removed for item in stats)
    digits = len(str(most))
    for name, item in zip(names, stats, strict=True):
        if item.binary:
            sizes = f"{_size(item.old_size)} -> {_size(item.new_size)} bytes"
            screen.line(f" {name:<{width}} | Bin {sizes}")
            continue
        scale = min(1.0, _GRAPH / most) if most else 1.0
        plus, minus = ("+" * _scaled(item.added, scale), "-" * _scaled(item.removed, scale))
        count = f"{item.added + item.removed:>{digits}}"
        screen.line(f" {name:<{width}} | {count} ", (plus, "green"), (minus, "red"))
    screen.line(f" {_sum(stats)}")
    return True


def _size(size: int | None) -> str:
    return "0" if size is None else str(size)


def _scaled(count: int, scale: float) -> int:
    return max(1, int(count * scale)) if count else 0


def _sum(stats: list[Stat]) -> str:
    added, removed = sum(item.added for item in stats), sum(item.removed for item in stats)
    parts = [f"{len(stats)} file{'s' * (len(stats) != 1)} changed"]
    if added:
        parts.append(f"{added} insertion{'s' * (added != 1)}(+)")
    if removed:
        parts.append(f"{removed} deletion{'s' * (removed != 1)}(-)")
    return ", ".join(parts)


def as_json(changes: Iterable[Change], args: argparse.Namespace, *, patch: bool) -> list[dict[str, Any]]:
    """Each file's facts, with its exact diff where `patch` is set."""
    rows: list[dict[str, Any]] = []
    for change in changes:
        row = _facts(change.path, change, stat(change))
        if patch:
            row["patch"] = unified_bytes(change, args.unified).decode("utf-8", "backslashreplace")
        rows.append(row)
    return rows


def _facts(path: TreePath, change: Change, counted: Stat) -> dict[str, Any]:
    status = "added" if change.old is None else "removed" if change.new is None else "changed"
    return {
        "path": path,
        "status": status,
        "added": counted.added,
        "removed": counted.removed,
        "binary": counted.binary,
        "old_size": counted.old_size,
        "new_size": counted.new_size,
        "old_mode": None if change.old is None else f"{change.old.mode:06o}",
        "new_mode": None if change.new is None else f"{change.new.mode:06o}",
    }
