"""Old messages of a session become history entries: by pressure, when idle, at the cap, or on request (memory-engine, 2).

Each chunk is one commit and one transaction: the entries are installed before the session's mark moves, so a crash in between may
repeat a chunk and never loses one, and the next start finishes it. No message is archived twice.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gitmem.core import consolidation, history, jsonl, session, tokens
from gitmem.core.classify import classify
from gitmem.core.consolidation import Chunk
from gitmem.core.model import MODE_SYMLINK, Change, CommitInfo, File, Snapshot, TreePath
from gitmem.core.session import Session
from gitmem.edges import tip, transaction
from gitmem.edges.llm import Client
from gitmem.edges.opened import Opened
from gitmem.errors import GitmemError, ModelError, NotFound

HISTORY = "memory/history.jsonl"
CURSOR = "memory/.cursor"
_ANSWER_TOKENS = 4096

Choice = Callable[[Session], Chunk | None]
"""Which messages of a session to archive next."""


@dataclass(frozen=True)
class Archived:
    """A chunk that went into the history.

    Attributes:
        key: The session.
        messages: First and last message, the latter not included.
        cursors: The history entries it became.
        failure: Why it was archived raw; None for a summary.
        commit: The commit.
    """

    key: str
    messages: tuple[int, int]
    cursors: tuple[int, ...]
    failure: ModelError | None
    commit: CommitInfo


@dataclass(frozen=True)
class _Text:
    """What a chunk becomes: the entries, what the next turn is told, and why there is no summary."""

    chunk: Chunk
    entries: list[str]
    told: str
    failure: ModelError | None
    trailers: tuple[tuple[str, str], ...]


def consolidate(
    opened: Opened,
    path: TreePath,
    choose: Choice,
    model: Client | None,
    commit_all: Callable[[], None],
    *,
    patient: bool = False,
) -> Iterator[Archived]:
    """Archive chunks of a session as long as `choose` names one.

    Args:
        opened: The workspace.
        path: The session.
        choose: Names the next chunk; asked again after each.
        model: Who summarises; None keeps messages raw.
        commit_all: Commits everything on disk; called before each change.
        patient: Leave the messages alone when the model cannot be asked now; otherwise they are archived raw.

    Yields:
        Each chunk, when it is on the disk and committed. One failing call ends the run.

    Raises:
        ModelError: The model cannot be asked and `patient` is set.
        RepositoryBusy: Writers kept coming in between.
    """
    for _ in range(consolidation.ROUNDS):
        commit_all()
        current = _committed(opened, path)
        chunk = choose(current)
        if chunk is None:
            return
        text = _summarise(opened, current, chunk, model, patient=patient)
        archived = _record(opened, path, current, text, commit_all)
        if archived is None:
            return
        yield archived
        if archived.failure is not None and model is not None:
            return


def trim(opened: Opened, path: TreePath, kept: int, commit_all: Callable[[], None]) -> CommitInfo | None:
    """Drop the oldest archived messages of a session beyond a legal suffix of `kept`; every earlier state stays in history."""

    def plan() -> Snapshot | None:
        before = _file(opened, path)
        current = session.parse(before.data)
        after = consolidation.cut(current, kept)
        if len(after.messages) == len(current.messages):
            return None
        change = Change(path, before, replace(before, data=session.render(after)))
        return classify([change], opened.classify)[0]

    return transaction.carry_out(opened, commit_all, plan, action="compact")


def _file(opened: Opened, path: TreePath) -> File:
    file = opened.repo.file(tip.current(opened).base, path)
    if file is None:
        raise NotFound(f"there is no session at {path}", "See them all: gitmem sessions")
    return file


def _committed(opened: Opened, path: TreePath) -> Session:
    return session.parse(_file(opened, path).data)


def _summarise(
    opened: Opened, current: Session, chunk: Chunk, model: Client | None, *, patient: bool
) -> _Text:
    messages = current.messages[chunk.start : chunk.end]
    if model is None:
        return _raw(current, chunk, ModelError("none", "no model is set"))
    spent, started = model.usage, opened.clock()
    room = opened.settings.context_window - _ANSWER_TOKENS - consolidation.SAFETY
    try:
        question = consolidation.prompt(current, chunk, tokens.estimate, room)
        summary = consolidation.checked_summary(model.ask(question, max_tokens=_ANSWER_TOKENS), messages)
    except ModelError as error:
        if patient and error.unreachable:
            raise
        return _raw(current, chunk, error)
    trailers = model.cost(spent, opened.clock() - started)
    return _Text(chunk, consolidation.summary_entries(summary), summary, None, trailers)


def _raw(current: Session, chunk: Chunk, failure: ModelError) -> _Text:
    entries = consolidation.raw_entries(current, chunk)
    told = f"{len(chunk)} earlier messages were archived without a summary."
    return _Text(chunk, entries, told, failure, (("Gitmem-Reason", failure.reason),))


def _record(
    opened: Opened,
    path: TreePath,
    asked: Session,
    text: _Text,
    commit_all: Callable[[], None],
) -> Archived | None:
    """Write a chunk's entries and move the mark; None when somebody else archived or changed these messages meanwhile."""
    chunk = text.chunk
    cursors: list[int] = []

    def plan() -> Snapshot | None:
        before = _file(opened, path)
        current = session.parse(before.data)
        if not _same(asked, current, chunk):
            return None
        now = dt.datetime.fromtimestamp(opened.clock())  # noqa: DTZ006  workspaces hold naive local times
        queue = _appended(opened, text.entries, f"{now:%Y-%m-%d %H:%M}", current.key, cursors)
        marked = consolidation.archived(current, chunk, text.told, now.isoformat())
        changes = [*queue, Change(path, before, replace(before, data=session.render(marked)))]
        (snapshot,) = classify(changes, opened.classify)
        trailers = snapshot.message.trailers + text.trailers
        return replace(snapshot, message=replace(snapshot.message, trailers=trailers))

    commit = transaction.carry_out(opened, commit_all, plan, action="consolidate")
    if commit is None:
        return None
    key = asked.key or path
    return Archived(key, (chunk.start, chunk.end), tuple(cursors), text.failure, commit)


def _same(asked: Session, now: Session, chunk: Chunk) -> bool:
    """Whether the messages that were summarised are still there, and still the oldest that are not archived."""
    return now.last_consolidated == chunk.start and jsonl.canonical(
        now.messages[: chunk.end]
    ) == jsonl.canonical(asked.messages[: chunk.end])


def _appended(
    opened: Opened, entries: list[str], now: str, key: str | None, cursors: list[int]
) -> list[Change]:
    """The queue with entries appended; their cursors go into `cursors`."""
    head = tip.current(opened).base
    queue, counter = opened.repo.file(head, HISTORY), opened.repo.file(head, CURSOR)
    for path, file in ((HISTORY, queue), (CURSOR, counter)):
        if file is not None and file.mode == MODE_SYMLINK:
            raise GitmemError(f"{path} is a symbolic link", "Put a plain file in its place.")
    data = queue.data if queue is not None else b""
    first = history.next_cursor(data, counter.data if counter is not None else None)
    cursors[:] = range(first, first + len(entries))
    for cursor, entry in zip(cursors, entries, strict=True):
        data = history.append(data, cursor, now, entry, key)
    return [Change(HISTORY, queue, File(data)), Change(CURSOR, counter, File(str(cursors[-1]).encode()))]
