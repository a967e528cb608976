"""Which history entries a Dream takes, and what may be cited of them."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gitmem.core import history
from gitmem.core.consolidation import NOTHING
from gitmem.core.history import Entry, History
from gitmem.core.transcript import RAW

SIZE = 20
"""Entries of one run (memory-format, section 4)."""

_MARK = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?\[(permanent|durable|ephemeral|correction|skip)\]", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries in the order of their cursors, from the first that no Dream has seen.

    Attributes:
        entries: At least one.
        more: Whether unseen entries are left behind them.
    """

    entries: tuple[Entry, ...]
    more: bool

    @property
    def last(self) -> int:
        """Where the Dream cursor goes when the run is completed."""
        return self.entries[-1].cursor

    @property
    def citable(self) -> frozenset[int]:
        """Cursors that an edit may name as its source."""
        return frozenset(entry.cursor for entry in self.entries if not is_skipped(entry))

    @property
    def corrections(self) -> frozenset[int]:
        """Cursors of entries that correct what was believed before."""
        return frozenset(entry.cursor for entry in self.entries if "correction" in marks(entry))


def next_batch(queue: History, dreamed: int, fits: Callable[[Sequence[Entry]], bool]) -> Batch | None:
    """The oldest entries behind the Dream cursor; None when there are none.

    By cursor, not by place in the file: a cursor may not go past an entry that no Dream has seen. Entries that share a cursor
    (case B74) stay together.

    Args:
        queue: The history.
        dreamed: The Dream cursor.
        fits: Whether so many entries fit into one question; one always has to.
    """
    unseen = sorted(history.after(queue, dreamed), key=lambda entry: entry.cursor)
    if not unseen:
        return None
    end = min(SIZE, len(unseen))
    while end > 1 and not fits(unseen[:end]):
        end = (end + 1) // 2
    while end < len(unseen) and unseen[end].cursor == unseen[end - 1].cursor:
        end += 1
    return Batch(tuple(unseen[:end]), end < len(unseen))


def unchanged(before: History, now: History, after: int, last: int) -> bool:
    """Whether the entries behind one cursor up to another are still the same ones: a sync may have renumbered them."""
    old, new = (
        [(entry.cursor, entry.content) for entry in queue.entries if after < entry.cursor <= last]
        for queue in (before, now)
    )
    return old == new


def marks(entry: Entry) -> frozenset[str]:
    """The marks that an entry's facts carry; none where it holds raw messages, in which anybody may have written a mark."""
    if entry.content.startswith(RAW):
        return frozenset()
    return frozenset(mark.lower() for mark in _MARK.findall(entry.content))


def is_skipped(entry: Entry) -> bool:
    """Whether an entry says of itself that nothing of it belongs into memory."""
    return entry.content.strip() in ("", NOTHING) or marks(entry) == {"skip"}


def as_data(entries: Sequence[Entry]) -> str:
    """Entries for a prompt, one JSON object a line; no text in them can end the section they stand in."""
    rows = (
        {
            "cursor": entry.cursor,
            "time": entry.timestamp,
            "session": entry.session_key,
            "content": entry.content,
        }
        for entry in entries
    )
    return "\n".join(json.dumps(row, ensure_ascii=False).replace("</", "<\\/") for row in rows)
