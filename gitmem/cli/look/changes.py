"""Changes of files on the screen and as JSON."""

import argparse
from collections.abc import Iterable
from typing import Any

from gitmem.cli.output import Screen
from gitmem.core.model import Change
from gitmem.core.recorddiff import is_readable, readable
from gitmem.core.textdiff import Stat, quoted, stat, unified, unified_bytes

_GRAPH = 40
"""Columns of the `+++---` of --stat."""
_STYLES = {"+": "green", "-": "red", "~": "yellow", "@": "cyan"}


def write(screen: Screen, changes: Iterable[Change], args: argparse.Namespace) -> bool:
    """Write changes as `--stat`, `--raw` and `-U` say; returns whether there were any."""
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
    """Lines in the colour of their sign; those above the first hunk are a header."""
    inside = False
    for line in text.removesuffix("\n").split("\n"):
        inside = not line.startswith("diff --git ") and (inside or line.startswith(("@@", "~ ")))
        screen.line((line, _STYLES.get(line[:1], "") if inside else "bold"))


def write_stat(screen: Screen, stats: list[Stat]) -> bool:
    """Write a line for each file and a sum, as `git diff --stat` does; returns whether there were any."""
    if not stats:
        return False
    width = max(len(quoted(item.path)) for item in stats)
    most = max(item.added + item.removed for item in stats)
    for item in stats:
        name = f" {quoted(item.path):<{width}} | "
        if item.binary:
            screen.line(f"{name}Bin {item.old_size or 0} -> {item.new_size or 0} bytes")
            continue
        count = f"{item.added + item.removed:>{len(str(most))}} "
        graph = (("+" * _scaled(item.added, most), "green"), ("-" * _scaled(item.removed, most), "red"))
        screen.line(name, count, *graph)
    screen.line(f" {_sum(stats)}")
    return True


def _scaled(count: int, most: int) -> int:
    return count if most <= _GRAPH or count == 0 else max(1, count * _GRAPH // most)


def _sum(stats: list[Stat]) -> str:
    added, removed = sum(item.added for item in stats), sum(item.removed for item in stats)
    parts = [f"{len(stats)} file{'s' * (len(stats) != 1)} changed"]
    if added:
        parts.append(f"{added} insertion{'s' * (added != 1)}(+)")
    if removed:
        parts.append(f"{removed} deletion{'s' * (removed != 1)}(-)")
    return ", ".join(parts)


def as_json(changes: Iterable[Change], args: argparse.Namespace, *, patch: bool) -> list[dict[str, Any]]:
    """Each file's facts, with its diff in exact lines where `patch` is set."""
    rows: list[dict[str, Any]] = []
    for change in changes:
        row = _facts(change, stat(change))
        if patch:
            row["patch"] = unified_bytes(change, args.unified).decode("utf-8", "backslashreplace")
        rows.append(row)
    return rows


def _facts(change: Change, counted: Stat) -> dict[str, Any]:
    return {
        "path": change.path,
        "status": "added" if change.old is None else "removed" if change.new is None else "changed",
        "added": counted.added,
        "removed": counted.removed,
        "binary": counted.binary,
        "old_size": counted.old_size,
        "new_size": counted.new_size,
        "old_mode": None if change.old is None else f"{change.old.mode:06o}",
        "new_mode": None if change.new is None else f"{change.new.mode:06o}",
    }
