"""What happened to the archive: consolidation, the history queue, Dreams."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitmem.core.describe.files import attention, file_lines, named
from gitmem.core.describe.words import NAMED, count, roles, short_key, short_path, span, spans
from gitmem.core.filedelta import file_delta
from gitmem.core.guard import ATTENTION
from gitmem.core.history import Entry
from gitmem.core.historydelta import HistoryDelta
from gitmem.core.model import Change, Kind, Message, TreePath
from gitmem.core.sessiondelta import SessionDelta


def consolidation(deltas: Sequence[SessionDelta], added: Sequence[Entry]) -> Message:
    """Messages became history entries, or were marked as archived.

    With several sessions each one has all three trailers, `-` where there is nothing to say, so that the n-th of each belong
    together.
    """
    shares = _shares(deltas, added)
    cursors = spans(entry.cursor for entry in added)
    raw = sum(entry.content.startswith("[RAW]") for entry in added)
    what = [f"{len(shares)} sessions"] if len(shares) > 1 else []
    what += [f"messages {share.messages}" for share in shares if share.messages and len(shares) == 1]
    what += [f"history {cursors}{', raw' if raw else ''}"] if added else []
    scope = f"({short_key(shares[0].key)})" if len(shares) == 1 else ""
    trailers = [trailer for share in shares for trailer in share.trailers(alone=len(shares) == 1)]
    trailers += [("Gitmem-History", cursors)] if added and not any(share.cursors for share in shares) else []
    trailers += [("Gitmem-Outcome", "degraded raw")] if raw else []
    body = [line for share in shares for line in share.lines()]
    body += [f"{count(raw, 'entry', 'entries')} kept raw: no summary was made"] if raw else []
    return Message(Kind.CONSOLIDATE, f"consolidate{scope}: {' -> '.join(what)}", tuple(body), tuple(trailers))


@dataclass(frozen=True, slots=True)
class _Share:
    """What one session has to do with a consolidation: the messages archived, and the entries they became."""

    key: str
    messages: str
    cursors: str
    delta: SessionDelta | None

    def trailers(self, *, alone: bool) -> Iterable[tuple[str, str]]:
        yield "Gitmem-Session", self.key
        for token, value in (("Gitmem-Messages", self.messages), ("Gitmem-History", self.cursors)):
            if value or not alone:
                yield token, value or "-"

    def lines(self) -> Iterable[str]:
        key = short_key(self.key)
        if self.messages:
            into = f" -> history {self.cursors}" if self.cursors else ""
            yield f"{key}: messages {self.messages} archived{into}"
        if self.delta is not None and self.delta.removed:
            yield f"{key}: {count(len(self.delta.removed), 'message')} left the file, {self.delta.after} are in it"
        if self.delta is not None and self.delta.added:
            yield f"{key}: +{count(len(self.delta.added), 'message')} ({roles(self.delta.added)})"


def _shares(deltas: Sequence[SessionDelta], added: Sequence[Entry]) -> list[_Share]:
    by_key = {delta.key: delta for delta in deltas}
    cursors: dict[str, list[int]] = {key: [] for key in by_key}
    for entry in added:
        if entry.session_key:
            cursors.setdefault(entry.session_key, []).append(entry.cursor)
        elif len(by_key) == 1:  # older agents name no session; when just one was archived, it is that one
            cursors[next(iter(by_key))].append(entry.cursor)
    return [
        _Share(key, _archived(by_key.get(key)), spans(found), by_key.get(key))
        for key, found in cursors.items()
    ]


def _archived(delta: SessionDelta | None) -> str:
    start, end = delta.newly_archived if delta is not None else (0, 0)
    return f"{start}..{end}" if end > start else ""


def migration(path: TreePath, added: Sequence[Entry]) -> Message:
    """An agent turned its old history file into entries of the queue.

    Args:
        path: The old file.
        added: The entries it became; at least one.
    """
    cursors = spans(entry.cursor for entry in added)
    subject = f"migrate({short_path(path)}): -> history {cursors}"
    return Message(Kind.MIGRATE, subject, (), (("Gitmem-History", cursors),))


def compacted_history(delta: HistoryDelta, dreamed: int | None) -> Message:
    """The oldest history entries were dropped.

    Args:
        delta: What went; at least one entry.
        dreamed: The last cursor that Dream has processed, where it is known.
    """
    all_dreamed = dreamed is not None and max(delta.dropped) <= dreamed
    subject = f"compact(history): dropped {spans(delta.dropped)}{', all dreamed' if all_dreamed else ''}"
    number = count(len(delta.dropped), "entry", "entries")
    return Message(Kind.COMPACT, subject, (f"{number} dropped; every earlier state is in history.",))


def edited_history(change: Change, delta: HistoryDelta, dreamed: int | None) -> Message:
    """The queue changed in a way in which no engine changes it.

    Args:
        change: The file.
        delta: What changed in it.
        dreamed: The last cursor that Dream has processed, where it is known.
    """
    what = [f"entry {spans(delta.changed)} changed"] if delta.changed else []
    what += [f"lost {spans(delta.dropped)}"] if delta.dropped else []
    unseen = [cursor for cursor in delta.dropped if dreamed is None or cursor > dreamed]
    body = [f"{ATTENTION}: no Dream has seen {spans(unseen)}"] if unseen else []
    subject = f"edit({short_path(change.path)}): {', '.join(what) or file_delta(change).told()}"
    return Message(Kind.EDIT, subject, tuple(body))


def dream(
    moved: tuple[int, int] | None, edits: Sequence[Change], sessions: Sequence[SessionDelta]
) -> Message:
    """A Dream: the entries it took and the files it changed.

    Args:
        moved: Where the Dream cursor was and is. None where it did not move: the edits are those of a Dream that is under way
            or that failed (gitstore, section 4).
        edits: Long-term files that changed.
        sessions: The Dream's own sessions, which tell what it did also when the edits were committed before.
    """
    files = ", ".join(named(file_delta(change)) for change in edits[:NAMED])
    files += f" and {len(edits) - NAMED} more" if len(edits) > NAMED else ""
    body = (*file_lines(edits), *attention(edits))
    whose = tuple(("Gitmem-Session", delta.key) for delta in sessions)
    if moved is None:
        outcome = ("Gitmem-Outcome", "failed cursor did not move")
        return Message(Kind.DREAM, f"dream: unfinished -> {files}", body, (*whose, outcome))
    entries = span(moved[0] + 1, moved[1])
    trailers = (*whose, ("Gitmem-Dream", entries), ("Gitmem-Outcome", "completed"))
    return Message(
        Kind.DREAM, f"dream: history {entries} -> {files or _done_before(sessions)}", body, trailers
    )


def _done_before(sessions: Sequence[SessionDelta]) -> str:
    paths = dict.fromkeys(path for delta in sessions for path in _edited_paths(delta))
    return f"{short_path(', '.join(paths))} (edited before)" if paths else "nothing new"


def _edited_paths(delta: SessionDelta) -> Iterable[TreePath]:
    """Markdown files that the editing tool calls of a session name."""
    for message in delta.added:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and str(function.get("name")).startswith(("edit", "write")):
                path = _path_argument(function.get("arguments"))
                if path is not None:
                    yield path


def _path_argument(arguments: object) -> TreePath | None:
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return None
    path = values.get("path") if isinstance(values, dict) else None
    return path if isinstance(path, str) and path.endswith(".md") else None
