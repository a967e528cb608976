"""Commit messages told from the files themselves: a subject, a body of facts, trailers for programs (gitstore, section 4)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from gitmem.core import checkpoint, guard, session
from gitmem.core.deltas import HistoryDelta, SessionDelta, lines_changed
from gitmem.core.history import Entry
from gitmem.core.model import Change, Kind, Message, TreePath

SIDECAR = ".checkpoint.json"
_NAMED = 3
"""Files named in a subject; more are counted."""
_LISTED = 30
"""Files listed in a body."""


def saved_session(change: Change, delta: SessionDelta) -> Message:
    """A session was saved: what came, by role."""
    if delta.added and delta.removed:
        what = f"+{len(delta.added)} -{len(delta.removed)} messages"
    elif delta.added:
        what = f"+{_count(len(delta.added), 'message')} ({_roles(delta)})"
    elif change.old is None:
        what = "started"
    else:
        what = ", ".join(delta.metadata[:_NAMED]) or "metadata"
        what = f"{what} changed"
    return _session(Kind.SESSION, delta, f"session({delta.key}): {what}", [f"{delta.after} messages in all"])


def _roles(delta: SessionDelta) -> str:
    roles = [str(message.get("role", "unreadable")) for message in delta.added]
    if len(roles) <= _NAMED:
        return ", ".join(roles)
    return ", ".join(f"{number} {role}" for role, number in Counter(roles).items())


def many_sessions(deltas: Sequence[SessionDelta]) -> Message:
    """Many sessions changed at once."""
    added = sum(len(delta.added) for delta in deltas)
    removed = sum(len(delta.removed) for delta in deltas)
    body = tuple(f"{delta.key}: +{len(delta.added)} -{len(delta.removed)}" for delta in deltas[:_LISTED])
    trailers = tuple(("Gitmem-Session", delta.key) for delta in deltas)
    return Message(
        Kind.SESSION, f"session: +{added} -{removed} messages in {len(deltas)} sessions", body, trailers
    )


def compacted_session(delta: SessionDelta) -> Message:
    """A session lost messages and gained none: compaction, a file cap, or `/new`."""
    number = len(delta.removed)
    what = (
        f"cleared {_count(number, 'message')}"
        if delta.after == 0
        else f"dropped {_count(number, 'message')}, kept {delta.after}"
    )
    return _session(
        Kind.COMPACT, delta, f"compact({delta.key}): {what}", ["Every earlier state is in history."]
    )


def deleted_session(delta: SessionDelta) -> Message:
    """A session's file was removed."""
    return _session(Kind.DELETE, delta, f"delete(session {delta.key}): {_count(delta.before, 'message')}", [])


def _session(kind: Kind, delta: SessionDelta, subject: str, body: Iterable[str]) -> Message:
    return Message(kind, subject, tuple(body), (("Gitmem-Session", delta.key),))


def consolidation(deltas: Sequence[SessionDelta], added: Sequence[Entry]) -> Message:
    """Messages became history entries."""
    cursors = _span([entry.cursor for entry in added])
    keys = list(
        dict.fromkeys(
            [delta.key for delta in deltas] + [entry.session_key for entry in added if entry.session_key]
        )
    )
    scope = keys[0] if len(keys) == 1 else f"{len(keys)} sessions" if keys else "history"
    ranges = [(delta.key, *delta.archived) for delta in deltas if delta.archived[1] > delta.archived[0]]
    moved = (
        f"messages {ranges[0][1]}..{ranges[0][2]}"
        if len(ranges) == 1
        else _count(len(ranges), "range")
        if ranges
        else ""
    )
    subject = f"consolidate({scope}): " + " -> ".join(
        part for part in (moved, f"history {cursors}" if added else "") if part
    )
    body = [f"{key}: messages {start}..{end} archived" for key, start, end in ranges]
    body += [
        f"{delta.key}: {_count(len(delta.removed), 'message')} left the file"
        for delta in deltas
        if delta.removed
    ]
    raw = sum(entry.content.startswith("[RAW]") for entry in added)
    body += [f"{_count(raw, 'entry', 'entries')} kept raw: no summary was made"] if raw else []
    trailers = [("Gitmem-Session", key) for key in keys]
    trailers += [("Gitmem-Messages", f"{start}..{end}") for _, start, end in ranges]
    trailers += [("Gitmem-History", cursors)] if added else []
    trailers += [("Gitmem-Outcome", "degraded raw")] if raw else []
    return Message(Kind.CONSOLIDATE, subject, tuple(body), tuple(trailers))


def dream(moved: tuple[int, int] | None, edits: Sequence[Change]) -> Message:
    """A Dream: the entries it took and the files it changed. Without a moved cursor it left partial edits behind."""
    files = ", ".join(_file_stat(change) for change in edits[:_NAMED]) or "nothing to keep"
    files += f" and {len(edits) - _NAMED} more" if len(edits) > _NAMED else ""
    body = (*_file_lines(edits), *_shrunk(edits))
    if moved is None:
        outcome = (("Gitmem-Outcome", "failed cursor did not move"),)
        return Message(Kind.DREAM, f"dream: unfinished -> {files}", body, outcome)
    old, new = moved
    if new <= old:
        subject = f"dream: cursor {old} -> {new}" + (f", {files}" if edits else "")
        return Message(
            Kind.DREAM, subject, body, (("Gitmem-Outcome", "cursor moved back"),) if new < old else ()
        )
    span = _span([old + 1, new])
    return Message(
        Kind.DREAM,
        f"dream: history {span} -> {files}",
        body,
        (("Gitmem-Dream", span), ("Gitmem-Outcome", "completed")),
    )


def compacted_history(delta: HistoryDelta) -> Message:
    """History entries were dropped."""
    return Message(
        Kind.COMPACT,
        f"compact(history): dropped {_span(list(delta.dropped))}",
        ("Every entry dropped is in history.",),
    )


def edits(changes: Sequence[Change]) -> Message:
    """Long-term files, attachments or others changed otherwise."""
    added, removed = map(sum, zip(*(lines_changed(change) for change in changes), strict=True))
    scope = f"({changes[0].path}): " if len(changes) == 1 else ": "
    what = f"+{added} -{removed}" if len(changes) == 1 else f"{len(changes)} files, +{added} -{removed}"
    return Message(
        Kind.EDIT,
        f"edit{scope}{what}",
        (*(_file_lines(changes) if len(changes) > 1 else ()), *_shrunk(changes)),
    )


def removed(changes: Sequence[Change]) -> Message:
    """Files were removed."""
    what = changes[0].path if len(changes) == 1 else f"{len(changes)} files"
    return Message(Kind.DELETE, f"delete({what})", tuple(f"{change.path}" for change in changes[:_LISTED]))


def phase(path: TreePath, data: bytes) -> Message:
    """A phase of a running turn, for the in-flight ref: a session or a checkpoint sidecar as it was on disk."""
    sidecar = data if path.endswith(SIDECAR) else None
    parsed = session.parse(b"" if sidecar is not None else data)
    state = checkpoint.run_state(parsed, sidecar)
    key = parsed.key or path.rpartition("/")[2].removesuffix(SIDECAR).removesuffix(".jsonl")
    name, pending = ("run state", 0) if state is None else (state.phase, state.pending)
    calls = f", {_count(pending, 'call')} pending" if pending else ""
    trailers = (("Gitmem-Session", key), ("Gitmem-Phase", name))
    return Message(Kind.CHECKPOINT, f"checkpoint({key}): {name}{calls}", (), trailers)


def _file_lines(changes: Sequence[Change]) -> list[str]:
    lines = [f"{_sign(change)} {_file_stat(change, whole=True)}" for change in changes[:_LISTED]]
    return lines + ([f"and {len(changes) - _LISTED} more"] if len(changes) > _LISTED else [])


def _sign(change: Change) -> str:
    return "new" if change.old is None else "gone" if change.new is None else "changed"


def _file_stat(change: Change, *, whole: bool = False) -> str:
    added, removed_lines = lines_changed(change)
    name = change.path if whole or change.path.startswith("skills/") else change.path.rpartition("/")[2]
    counts = (f"+{added}" if added else "", f"-{removed_lines}" if removed_lines else "")
    return " ".join(part for part in (name, *counts) if part)


def _shrunk(changes: Sequence[Change]) -> list[str]:
    found = [
        guard.shrink(change.old.data, change.new.data if change.new else b"", change.path)
        for change in changes
        if change.old is not None
    ]
    return [f"ATTENTION {finding.path}: {finding.text}" for finding in found if finding is not None]


def _span(numbers: Sequence[int]) -> str:
    """`17`, or `14..17`."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}..{high}"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
