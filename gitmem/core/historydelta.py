"""What changed between two versions of the history queue."""

from dataclasses import dataclass

from gitmem.core import history
from gitmem.core.model import Change


@dataclass(frozen=True, slots=True)
class HistoryDelta:
    """The history queue before and after.

    Attributes:
        added: Entries with cursors that were not there before.
        dropped: Cursors that are gone.
        kept: Cursors of the old entries that are still there, lowest and highest; None where there are none.
        changed: Cursors of entries that say something else now.
    """

    added: tuple[history.Entry, ...]
    dropped: tuple[int, ...]
    kept: tuple[int, int] | None
    changed: tuple[int, ...]

    @property
    def oldest_dropped(self) -> bool:
        """Whether only entries went that are older than all that stayed."""
        return bool(self.dropped) and (self.kept is None or max(self.dropped) < self.kept[0])


def history_delta(change: Change) -> HistoryDelta:
    """Compare two versions of the history; entries are told by their cursors."""
    old, new = (b"" if file is None else file.data for file in (change.old, change.new))
    tail = new[len(old) :]
    if new.startswith(old) and (old[-1:] in (b"", b"\n") or tail[:1] in (b"", b"\n")):
        return HistoryDelta(history.parse(tail).entries, (), None, ())
    before = {entry.cursor: entry for entry in history.parse(old).entries}
    after = {entry.cursor: entry for entry in history.parse(new).entries}
    both = sorted(before.keys() & after.keys())
    return HistoryDelta(
        added=tuple(entry for cursor, entry in after.items() if cursor not in before),
        dropped=tuple(sorted(before.keys() - after.keys())),
        kept=(both[0], both[-1]) if both else None,
        changed=tuple(cursor for cursor in both if _says(before[cursor]) != _says(after[cursor])),
    )


def _says(entry: history.Entry) -> tuple[str, str, str | None]:
    return entry.timestamp, entry.content, entry.session_key
