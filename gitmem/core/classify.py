"""What happened: changes become snapshots, one for each thing that happened (gitstore, section 4).

Decided by comparing parsed states, not by file names alone. Session save, history append and cursor move that belong together
are one commit; unrelated sessions of a batch get one each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gitmem.core import describe, history
from gitmem.core.deltas import HistoryDelta, SessionDelta, history_delta, session_delta
from gitmem.core.model import Change, Kind, Message, PathClass, Snapshot, TreePath

_FOLD = 20
"""More sessions than this in one batch (an import, a restored folder) become one commit."""


@dataclass
class _Batch:
    """The changes of a batch, sorted by what they are. Each change leaves when a group takes it."""

    sessions: dict[TreePath, tuple[Change, SessionDelta]] = field(default_factory=dict)
    history: tuple[Change, HistoryDelta] | None = None
    cursors: dict[TreePath, Change] = field(default_factory=dict)
    memory: dict[TreePath, Change] = field(default_factory=dict)
    other: dict[TreePath, Change] = field(default_factory=dict)

    def take_cursor(self, name: str) -> list[Change]:
        """Take a cursor file out of the batch, wherever it lies."""
        paths = [path for path in self.cursors if path.rpartition("/")[2] == name]
        return [self.cursors.pop(path) for path in paths]


def classify(changes: Sequence[Change], path_class: Callable[[TreePath], PathClass]) -> list[Snapshot]:
    """Group changes into commits.

    Args:
        changes: Paths that differ, sessions without their machine-local fields.
        path_class: What each path means.

    Returns:
        Snapshots in the order they are to be committed; every change is in exactly one.
    """
    batch = _sort(changes, path_class)
    groups = [*_consolidation(batch), *_dream(batch), *_sessions(batch), *_rest(batch)]
    return [_snapshot(message, taken) for message, taken in groups if taken]


def _sort(changes: Iterable[Change], path_class: Callable[[TreePath], PathClass]) -> _Batch:
    batch = _Batch()
    for change in sorted(changes, key=lambda item: item.path):
        match path_class(change.path):
            case PathClass.SESSION:
                batch.sessions[change.path] = (change, session_delta(change))
            case PathClass.HISTORY if batch.history is None:
                batch.history = (change, history_delta(change))
            case PathClass.CURSOR:
                batch.cursors[change.path] = change
            case PathClass.MEMORY:
                batch.memory[change.path] = change
            case _:
                batch.other[change.path] = change
    return batch


_Group = tuple[Message, list[Change]]


def _snapshot(message: Message, changes: list[Change]) -> Snapshot:
    return Snapshot(message, {change.path: change.new for change in changes})


def _consolidation(batch: _Batch) -> list[_Group]:
    """History grew, or sessions were archived: one commit with the sessions whose messages went there."""
    added = batch.history[1].added if batch.history is not None else ()
    keys = {entry.session_key for entry in added if entry.session_key}
    archived = [
        path
        for path, (change, delta) in batch.sessions.items()
        if change.new is not None
        and (delta.archived[1] > delta.archived[0] or (delta.key in keys and _shrank(delta)))
    ]
    if not added and not archived:
        return []
    taken = [batch.sessions.pop(path) for path in archived]
    changes = [change for change, _ in taken]
    if batch.history is not None and added:
        changes.append(batch.history[0])
        batch.history = None
        changes += batch.take_cursor(".cursor")
    return [(describe.consolidation([delta for _, delta in taken], added), changes)]


def _shrank(delta: SessionDelta) -> bool:
    return delta.after < delta.before


def _dream(batch: _Batch) -> list[_Group]:
    """The Dream cursor moved, or a Dream session edited long-term files. Its history compaction belongs to it."""
    cursor = batch.take_cursor(".dream_cursor")
    moved = [_move(change) for change in cursor]
    sessions = [path for path, (_, delta) in batch.sessions.items() if _is_dream(delta)]
    if not cursor and not (sessions and batch.memory):
        return []
    changes = cursor + [batch.sessions.pop(path)[0] for path in sessions] + list(batch.memory.values())
    edits = list(batch.memory.values())
    batch.memory = {}
    if batch.history is not None and batch.history[1].dropped:
        changes.append(batch.history[0])
        batch.history = None
    return [(describe.dream(moved[0] if moved else None, edits), changes)]


def _is_dream(delta: SessionDelta) -> bool:
    return delta.key.startswith(("dream:", "dream_"))


def _move(change: Change) -> tuple[int, int]:
    """Where a cursor was and is; a missing or broken one counts as 0 (memory-format, section 4)."""
    old, new = (history.parse_cursor(file.data if file else None) or 0 for file in (change.old, change.new))
    return old, new


def _sessions(batch: _Batch) -> list[_Group]:
    """What is left of sessions: saves, shrinkage by design, removals."""
    items = list(batch.sessions.values())
    batch.sessions = {}
    if len(items) > _FOLD:
        return [(describe.many_sessions([delta for _, delta in items]), [change for change, _ in items])]
    return [(_session(change, delta), [change]) for change, delta in items]


def _session(change: Change, delta: SessionDelta) -> Message:
    if change.new is None:
        return describe.deleted_session(delta)
    if delta.removed and not delta.added:
        return describe.compacted_session(delta)
    return describe.saved_session(change, delta)


def _rest(batch: _Batch) -> list[_Group]:
    """History that only shrank, edits, and removed files."""
    groups: list[_Group] = []
    if batch.history is not None:
        change, delta = batch.history
        compacted = change.new is not None and bool(delta.dropped)
        message = describe.compacted_history(delta) if compacted else describe.edits([change])
        groups.append((message, [change]))
    files = [*batch.memory.values(), *batch.other.values(), *batch.cursors.values()]
    removed = [change for change in files if change.new is None]
    edited = [change for change in files if change.new is not None]
    if edited:
        groups.append((describe.edits(edited), edited))
    if removed:
        groups.append((describe.removed(removed), removed))
    return groups


def first_commit(changes: Sequence[Change], *, agent: str) -> Snapshot:
    """The commit that takes everything under history."""
    count = len(changes)
    subject = f"init: track {count} {'file' if count == 1 else 'files'} of a {agent} workspace"
    return _snapshot(Message(Kind.INIT, subject), list(changes))


def folded(changes: Sequence[Change], pending: str) -> Snapshot:
    """The commit that takes in what was committed aside while a person's git operation was unfinished."""
    message = Message(
        Kind.MERGE,
        f"merge: take in commits made while a git operation was unfinished ({len(changes)} files)",
        ("The files are as they were on disk when the operation was done.",),
        (("Gitmem-Pending", pending),),
    )
    return _snapshot(message, list(changes))
