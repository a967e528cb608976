"""What happened to conversations."""

from collections.abc import Iterable, Sequence

from gitmem.core import checkpoint, session
from gitmem.core.describe.words import LISTED, NAMED, count, more, roles, short_key, short_path
from gitmem.core.message import shortened
from gitmem.core.model import Kind, Message, TreePath
from gitmem.core.sessiondelta import SessionDelta

_SIDECAR = ".checkpoint.json"
_TITLE_WIDTH = 40


def saved_session(delta: SessionDelta, moved_from: TreePath | None = None) -> Message:
    """A session was saved: what came, by role, or what else changed.

    Args:
        delta: What changed.
        moved_from: The file it lay in before, where that is another one.
    """
    what = ", ".join(_saved(delta, moved_from)) or _metadata(delta)
    archived = f", {delta.archived[1]} of them archived" if delta.archived[1] else ""
    body = f"{count(delta.after, 'message')} in all{archived}"
    return _about(Kind.SESSION, delta, f"session({short_key(delta.key)}): {what}", body)


def _saved(delta: SessionDelta, moved_from: TreePath | None) -> Iterable[str]:
    if moved_from is not None:
        yield f"moved from {short_path(moved_from)}"
    if delta.added:
        yield f"+{count(len(delta.added), 'message')} ({roles(delta.added)})"
    if delta.removed:
        yield f"-{count(len(delta.removed), 'message')} ({roles(delta.removed)})"
    if delta.edited:
        yield f"{count(delta.edited, 'message')} edited"
    if delta.archived[1] < delta.archived[0] and not delta.removed:
        yield f"last_consolidated {delta.archived[0]} -> {delta.archived[1]}"
    if delta.title is not None:
        yield f'title "{shortened(delta.title, _TITLE_WIDTH)}"'


def _metadata(delta: SessionDelta) -> str:
    if not delta.exists[0]:
        return "started"
    names = ", ".join(shortened(name, _TITLE_WIDTH) for name in delta.metadata[:NAMED])
    return f"{names} changed" if names else "saved again, no new messages"


def compacted_session(delta: SessionDelta) -> Message:
    """A session's oldest messages were dropped: compaction, a file cap, or `/new`."""
    number = count(len(delta.removed), "message")
    what = (
        f"cleared {number}"
        if delta.after == 0
        else f"dropped {number}, kept {delta.after - len(delta.added)}"
    )
    if delta.added:
        what += f", +{len(delta.added)} ({roles(delta.added)})"
    subject = f"compact({short_key(delta.key)}): {what}"
    return _about(Kind.COMPACT, delta, subject, "Every earlier state is in history.")


def deleted_session(delta: SessionDelta) -> Message:
    """A session's file was removed."""
    subject = f"delete(session {short_key(delta.key)}): {count(delta.before, 'message')}"
    return _about(Kind.DELETE, delta, subject, delta.path)


def _about(kind: Kind, delta: SessionDelta, subject: str, body: str) -> Message:
    return Message(kind, subject, (body,), (("Gitmem-Session", delta.key),))


def many_sessions(kind: Kind, deltas: Sequence[SessionDelta]) -> Message:
    """The same happened to many sessions at once: an import, a restored folder, a night of compaction."""
    added, removed = (
        sum(len(messages) for messages in column)
        for column in zip(*((delta.added, delta.removed) for delta in deltas), strict=True)
    )
    body = [
        f"{short_key(delta.key)}: +{len(delta.added)} -{len(delta.removed)}, {delta.after} in all"
        for delta in deltas[:LISTED]
    ]
    trailers = tuple(("Gitmem-Session", delta.key) for delta in deltas)
    subject = f"{kind}: {len(deltas)} sessions, +{added} -{removed} messages"
    return Message(kind, subject, (*body, *more(len(deltas))), trailers)


def phase(path: TreePath, data: bytes) -> Message:
    """A phase of a running turn, for the in-flight ref: a session or a checkpoint sidecar as it was on disk."""
    sidecar = data if path.endswith(_SIDECAR) else None
    parsed = session.parse(b"" if sidecar is not None else data)
    state = checkpoint.run_state(parsed, sidecar)
    key = parsed.key or path.rpartition("/")[2].removesuffix(_SIDECAR).removesuffix(".jsonl")
    name, pending = ("run state", 0) if state is None else (state.phase, state.pending)
    calls = f", {count(pending, 'call')} pending" if pending else ""
    trailers = (("Gitmem-Session", key), ("Gitmem-Phase", name))
    subject = f"checkpoint({short_key(key)}): {shortened(name, _TITLE_WIDTH)}{calls}"
    return Message(Kind.CHECKPOINT, subject, (), trailers)
