"""Taking an old `memory/HISTORY.md` over into the queue (memory-format, section 5)."""

import datetime as dt
import os
from itertools import count
from pathlib import Path

from gitmem.core import history, history_migration
from gitmem.edges import durable, syscalls
from gitmem.store import placing

_OLD = "HISTORY.md"


def take_over(folder: Path) -> int:
    """Make entries of the old file; the lock of the queue is held.

    The queue comes first: once it holds the entries, whatever happens next, this can be finished. A crash in between may show a
    Dream what it has seen already, and never hides anything from it.

    Args:
        folder: The `memory` folder.

    Returns:
        How many entries the old file became; 0 where there is none, or the queue is in use already.
    """
    old, queue = folder / _OLD, folder / "history.jsonl"
    data = placing.read(old)
    if data is None:
        return 0
    undated = f"{dt.datetime.fromtimestamp(old.stat().st_mtime):%Y-%m-%d %H:%M}"  # noqa: DTZ006
    made = history_migration.migrated(data, undated)
    now = placing.read(queue)
    if made and not (now or b"").startswith(made):
        used = bool(now) or any(_number(folder / name) for name in (".cursor", ".dream_cursor"))
        if used or not placing.place(queue, now, made):
            return 0
    entries = len(history.parse(made).entries)
    for name in (".dream_cursor", ".cursor"):
        if _number(folder / name) < entries:
            durable.replace(folder / name, str(entries).encode(), 0o600)
    syscalls.replace(old, _kept_as(old))
    syscalls.fsync_dir(folder)
    return entries


def _number(path: Path) -> int:
    return history.parse_cursor(placing.read(path)) or 0


def _kept_as(old: Path) -> Path:
    """A name for the old file that no other kept file has."""
    names = (f"{_OLD}.{number}.bak" if number > 1 else f"{_OLD}.bak" for number in count(1))
    return next(path for name in names if not os.path.lexists(path := old.with_name(name)))
