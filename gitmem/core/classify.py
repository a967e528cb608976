"""What happened: changes become snapshots, one for each thing that happened (gitstore, section 4).

Decided by comparing parsed states, not by file names alone. Session save, history append and cursor move that belong together
are one commit; unrelated sessions of a batch get one each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gitmem.core import describe, history, jsonl
from gitmem.core.historydelta import HistoryDelta, history_delta
from gitmem.core.model import Change, File, Kind, Message, PathClass, Snapshot, TreePath
from gitmem.core.sessiondelta import SessionDelta, session_delta

_FOLD = 20
"""When the same happens to more sessions than this in one batch (an import, a restored folder), it is one commit."""

_Group = tuple[Message, list[Change]]
_Saved = tuple[Change, SessionDelta]


@dataclass
class _Batch:
    """The changes of a batch, sorted by what they are. Each change leaves when a group takes it."""

    sessions: list[_Saved] = field(default_factory=list)
    history: tuple[Change, HistoryDelta] | None = None
    cursors: list[Change] = field(default_factory=list)
    files: list[Change] = field(default_factory=list)
    long_term: list[Change] = field(default_factory=list)
    dreamed: int | None = None
    dreaming: bool = False

    def take_sessions(self, wanted: Callable[[SessionDelta], bool]) -> list[_Saved]:
        """Take sessions out of the batch."""
        taken = [item for item in self.sessions if wanted(item[1])]
        self.sessions = [item for item in self.sessions if not wanted(item[1])]
        return taken

    def take_cursors(self, wanted: Callable[[Change], bool]) -> list[Change]:
        """Take cursor files out of the batch."""
        taken = [change for change in self.cursors if wanted(change)]
        self.cursors = [change for change in self.cursors if change not in taken]
        return taken

    def take_history(self) -> list[Change]:
        """Take the history file out of the batch."""
        taken = [] if self.history is None else [self.history[0]]
        self.history = None
        return taken

    def take_long_term(self) -> list[Change]:
        """Take the files that a Dream writes out of the batch."""
        taken, self.long_term = self.long_term, []
        return taken


def classify(
    changes: Sequence[Change],
    path_class: Callable[[TreePath], PathClass],
    *,
    in_flight: Mapping[TreePath, File] | None = None,
    dreamed: int | None = None,
) -> list[Snapshot]:
    """Group changes into commits.

    Args:
        changes: Paths that differ, sessions without their machine-local fields.
        path_class: What each path means.
        in_flight: Sessions that are in the middle of a turn now, whole: edits made while a Dream is under way are its own.
        dreamed: The last cursor that Dream has processed, as committed, where it is known.

    Returns:
        Snapshots in the order they are to be committed, the same for any order of `changes`; every change is in exactly one.
    """
    batch = _sort(changes, path_class)
    batch.dreaming = any(_is_dream(_key(path, file)) for path, file in (in_flight or {}).items())
    batch.dreamed = max((_move(change)[1] for change in batch.cursors if _moved_on(change)), default=dreamed)
    groups = [
        *_migration(batch),
        *_consolidation(batch),
        *_dream(batch),
        *_sessions(batch),
        *_queue(batch),
        *_files(batch),
    ]
    return [_snapshot(message, taken) for message, taken in groups]


def _sort(changes: Iterable[Change], path_class: Callable[[TreePath], PathClass]) -> _Batch:
    batch = _Batch()
    for change in sorted(changes, key=lambda item: item.path):
        match path_class(change.path):
            case PathClass.SESSION:
                batch.sessions.append((change, session_delta(change)))
            case PathClass.HISTORY if batch.history is None:
                batch.history = (change, history_delta(change))
            case PathClass.CURSOR:
                batch.cursors.append(change)
            case PathClass.MEMORY | PathClass.ATTACHMENT as kind if _is_long_term(change.path, kind):
                batch.long_term.append(change)
            case _:
                batch.files.append(change)
    return batch


def _is_long_term(path: TreePath, kind: PathClass) -> bool:
    """Whether a Dream may write it: memory and skills, not prompts and gitmem's own files (memory-format, section 4)."""
    top = path.partition("/")[0]
    return top == "skills" or (kind is PathClass.MEMORY and top != "prompts" and not top.startswith("."))


def _snapshot(message: Message, changes: Iterable[Change]) -> Snapshot:
    return Snapshot(message, {change.path: change.new for change in changes})


def _migration(batch: _Batch) -> list[_Group]:
    """An old HISTORY.md became history entries, which count as dreamed already: no Dream did that (memory-format, section 5)."""
    gone = [change for change in batch.long_term if change.path.endswith("HISTORY.md") and change.new is None]
    if not gone or batch.history is None or not batch.history[1].added:
        return []
    message = describe.migration(gone[0].path, batch.history[1].added)
    copies = [change for change in batch.long_term if change.path == f"{gone[0].path}.bak"]
    taken = [gone[0], *copies]
    batch.long_term = [change for change in batch.long_term if change not in taken]
    return [(message, [*taken, *batch.take_history(), *batch.take_cursors(lambda _: True)])]


def _consolidation(batch: _Batch) -> list[_Group]:
    """History grew: one commit with the sessions whose messages went there.

    A Dream cursor that appears together with the queue was brought here with it, and says nothing of a Dream.
    """
    if batch.history is None or not batch.history[1].added:
        return []
    added = batch.history[1].added
    keys = {entry.session_key for entry in added}
    taken = batch.take_sessions(
        lambda delta: delta.exists[1] and (delta.key in keys or (None in keys and _archived_more(delta)))
    )
    brought = batch.history[0].old is None and not _has_dream_session(batch)
    cursors = batch.take_cursors(lambda change: brought or not _is_dream_cursor(change))
    message = describe.consolidation([delta for _, delta in taken], added)
    return [(message, [*(change for change, _ in taken), *batch.take_history(), *cursors])]


def _archived_more(delta: SessionDelta) -> bool:
    start, end = delta.newly_archived
    return end > start


def _dream(batch: _Batch) -> list[_Group]:
    """The Dream cursor moved on, or a Dream's session edits long-term files. History compacted meanwhile belongs to it."""
    cursors = batch.take_cursors(_moved_on)
    if not cursors and not (batch.long_term and (batch.dreaming or _has_dream_session(batch))):
        return []
    sessions = batch.take_sessions(lambda delta: _is_dream(delta.key))
    edits = batch.take_long_term()
    compacted = batch.history is not None and batch.history[1].oldest_dropped
    message = describe.dream(_move(cursors[0]) if cursors else None, edits, [delta for _, delta in sessions])
    changes = [*cursors, *(change for change, _ in sessions), *edits]
    return [(message, changes + (batch.take_history() if compacted else []))]


def _has_dream_session(batch: _Batch) -> bool:
    return any(delta.exists[1] and _is_dream(delta.key) for _, delta in batch.sessions)


def _is_dream(key: str) -> bool:
    return key.rpartition("/")[2].startswith(("dream:", "dream_"))


def _key(path: TreePath, file: File) -> str:
    """The key of a session, from its first line alone; its path where that does not name it."""
    key = (jsonl.decode(file.data.partition(b"\n")[0]) or {}).get("key")
    return key if isinstance(key, str) else path


def _is_dream_cursor(change: Change) -> bool:
    return change.path.rpartition("/")[2] == ".dream_cursor"


def _move(change: Change) -> tuple[int, int]:
    """Where a cursor was and is; a missing or broken one counts as 0 (memory-format, section 4)."""
    old, new = (history.parse_cursor(file.data if file else None) or 0 for file in (change.old, change.new))
    return old, new


def _moved_on(change: Change) -> bool:
    old, new = _move(change)
    return _is_dream_cursor(change) and new > old


def _sessions(batch: _Batch) -> list[_Group]:
    """What is left of sessions, one commit each: saves, marks moved, shrinkage by design, removals."""
    by_key: dict[str, list[_Saved]] = {}
    for change, delta in batch.sessions:
        by_key.setdefault(delta.key, []).append((change, delta))
    batch.sessions = []
    by_kind: dict[Kind, list[_Group]] = {}
    deltas: dict[Kind, list[SessionDelta]] = {}
    for items in by_key.values():
        for message, saved in _one_key(items):
            by_kind.setdefault(message.kind, []).append((message, [change for change, _ in saved]))
            deltas.setdefault(message.kind, []).extend(delta for _, delta in saved)
    return [group for kind, groups in by_kind.items() for group in _folded(kind, groups, deltas[kind])]


def _folded(kind: Kind, groups: list[_Group], deltas: list[SessionDelta]) -> list[_Group]:
    if len(groups) <= _FOLD:
        return groups
    changes = [change for _, taken in groups for change in taken]
    return [(describe.many_sessions(kind, deltas), changes)]


def _one_key(items: list[_Saved]) -> Iterable[tuple[Message, list[_Saved]]]:
    """The files of one session: usually one; two when it moved to another file."""
    match sorted(items, key=lambda item: item[1].exists):
        case [(came, new), (went, gone)] if (new.exists, gone.exists) == ((False, True), (True, False)):
            delta = session_delta(Change(came.path, went.old, came.new))
            yield describe.saved_session(delta, moved_from=gone.path), [(came, delta), (went, gone)]
        case _:
            for change, delta in items:
                yield _session(delta), [(change, delta)]


def _session(delta: SessionDelta) -> Message:
    if not delta.exists[1]:
        return describe.deleted_session(delta)
    if delta.shrank and delta.after < delta.before:
        return describe.compacted_session(delta)
    if not delta.shrank and _archived_more(delta):
        return describe.consolidation([delta], ())
    return describe.saved_session(delta)


def _queue(batch: _Batch) -> list[_Group]:
    """A history that did not grow: compacted, edited or removed."""
    if batch.history is None:
        return []
    change, delta = batch.history
    safe = batch.dreamed is None or not delta.dropped or max(delta.dropped) <= batch.dreamed
    if change.new is None:
        message = describe.removed([change])
    elif delta.oldest_dropped and not delta.changed and safe:
        message = describe.compacted_history(delta, batch.dreamed)
    else:
        message = describe.edited_history(change, delta, batch.dreamed)
    return [(message, batch.take_history())]


def _files(batch: _Batch) -> list[_Group]:
    """Everything else, in one commit: what was edited, renamed and removed at the same time is one thing (case B50)."""
    changes = sorted([*batch.take_long_term(), *batch.files, *batch.cursors], key=lambda change: change.path)
    if not changes:
        return []
    if all(change.new is None for change in changes):
        return [(describe.removed(changes), changes)]
    renames = _renames(changes)
    gone = set(renames.values())
    return [(describe.edits([change for change in changes if change.path not in gone], renames), changes)]


def _renames(changes: Iterable[Change]) -> dict[TreePath, TreePath]:
    """New name -> old name of files that only moved, so that `log --follow` finds both in one commit."""
    gone: dict[File, list[TreePath]] = {}
    came: list[tuple[TreePath, File]] = []
    for change in changes:
        if change.new is None and change.old is not None and change.old.data:
            gone.setdefault(change.old, []).append(change.path)
        elif change.old is None and change.new is not None:
            came.append((change.path, change.new))
    return {path: gone[file].pop(0) for path, file in came if gone.get(file)}


def first_commit(
    changes: Sequence[Change], *, agent: str, path_class: Callable[[TreePath], PathClass] | None = None
) -> Snapshot:
    """The commit that takes everything under history."""
    classes = (path_class(change.path) for change in changes) if path_class is not None else ()
    return _snapshot(describe.first(len(changes), classes, agent), changes)


def folded(changes: Sequence[Change], pending: str) -> Snapshot:
    """The commit that takes in what was committed aside while a person's git operation was unfinished."""
    message = Message(
        Kind.MERGE,
        f"merge: take in commits made while a git operation was unfinished ({len(changes)} files)",
        ("The files are as they were on disk when the operation was done.",),
        (("Gitmem-Pending", pending),),
    )
    return _snapshot(message, changes)
