"""Dream: history entries become long-term memory (memory-engine, section 3). The model proposes, code disposes.

One run takes one batch. Its edits and the move of the Dream cursor are one transaction and one commit; a run that fails changes
nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gitmem.core import describe, history, tokens
from gitmem.core.consolidation import SAFETY
from gitmem.core.dreaming import batch as batches
from gitmem.core.dreaming import dialogue, draft, guards, instructions, skills
from gitmem.core.dreaming.batch import Batch
from gitmem.core.dreaming.draft import LONG_TERM, Draft
from gitmem.core.dreaming.rebase import rebased
from gitmem.core.history import History
from gitmem.core.historydelta import history_delta
from gitmem.core.model import MODE_SYMLINK, Change, CommitInfo, File, Snapshot, TreePath
from gitmem.core.newlines import restored, unified
from gitmem.core.provenance import source_trailer
from gitmem.edges import tip, transaction
from gitmem.edges.llm import Client
from gitmem.edges.opened import Opened
from gitmem.errors import DreamFailed

HISTORY = "memory/history.jsonl"
DREAM_CURSOR = "memory/.dream_cursor"
OWN_RULES = "prompts/dream.md"
_ANSWER_TOKENS = 8192


@dataclass(frozen=True)
class Proposal:
    """What one run would do.

    Attributes:
        batch: The entries it takes.
        queue: The history they were taken from.
        dreamed: Where the Dream cursor is.
        seen: The long-term files as the model saw them; None for one that did not exist.
        files: The files it changes, as they would be.
        sources: Trailers that name the entries each new fact is made of.
        cost: Trailers that name the model and what it took.
    """

    batch: Batch
    queue: History
    dreamed: int
    seen: Mapping[TreePath, File | None]
    files: Mapping[TreePath, File]
    sources: tuple[tuple[str, str], ...]
    cost: tuple[tuple[str, str], ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """The edits as before and after, for a diff."""
        return tuple(Change(path, self.seen.get(path), file) for path, file in sorted(self.files.items()))


def propose(opened: Opened, model: Client) -> Proposal | None:
    """Ask a model what to make of the next batch. Changes nothing.

    Args:
        opened: The workspace; everything on disk is committed.
        model: Who is asked.

    Returns:
        None when no entry waits.

    Raises:
        DreamFailed: Nothing sound was proposed.
        ModelError: There was no answer.
    """
    head = tip.current(opened).base
    files = opened.repo.files(head)
    queue = _queue(opened, head)
    dreamed = _dreamed(opened, head)
    wanted = [path for path in files if path in LONG_TERM or skills.PATH.fullmatch(path)]
    seen = {path: opened.repo.read(files[path]) for path in wanted}
    room = opened.settings.context_window - _ANSWER_TOKENS - SAFETY
    room -= tokens.estimate("\n".join(_decoded(seen[path]) for path in LONG_TERM if path in seen))
    found = batches.next_batch(
        queue,
        dreamed,
        lambda entries: tokens.estimate(batches.as_data(entries)) <= room,
    )
    if found is None:
        return None
    if links := [path for path, file in seen.items() if file.mode == MODE_SYMLINK]:
        raise DreamFailed("link", f"{links[0]} is a symbolic link; a Dream changes plain files only")
    spent, started = model.usage, opened.clock()
    done = _drafted(opened, model, found, seen) if found.citable else draft.begin({})
    return Proposal(
        batch=found,
        queue=queue,
        dreamed=dreamed,
        seen=seen,
        files={path: _encoded(text, seen.get(path)) for path, text in done.changed.items()},
        sources=tuple(_sources(done)),
        cost=model.cost(spent, opened.clock() - started) if found.citable else (),
    )


def _dreamed(opened: Opened, head: str | None) -> int:
    cursor = opened.repo.file(head, DREAM_CURSOR)
    return history.parse_cursor(None if cursor is None else cursor.data) or 0


def _queue(opened: Opened, head: str | None) -> History:
    file = opened.repo.file(head, HISTORY)
    if file is not None and file.mode == MODE_SYMLINK:
        raise DreamFailed("link", f"{HISTORY} is a symbolic link")
    return history.parse(b"" if file is None else file.data)


def unread(opened: Opened, head: str | None) -> int:
    """How many entries of the queue, as committed, no Dream has seen."""
    queue = opened.repo.file(head, HISTORY)
    entries = history.parse(b"" if queue is None else queue.data)
    return len(history.after(entries, _dreamed(opened, head)))


def _drafted(opened: Opened, model: Client, found: Batch, seen: Mapping[TreePath, File]) -> Draft:
    """The draft that a conversation with the model ends in, judged as a whole."""
    start = draft.begin({path: _decoded(file) for path, file in seen.items()})
    known = [skills.skill(path, start.texts[path]) for path in sorted(seen) if path not in LONG_TERM]
    own = opened.repo.file(tip.current(opened).base, OWN_RULES)
    question = instructions.question(start, known, found, None if own is None else _decoded(own))
    offered = instructions.tools(known)
    done = dialogue.converse(
        lambda messages: model.ask_for_calls(messages, offered, max_tokens=_ANSWER_TOKENS),
        question,
        start,
        found,
        {skill.name or skill.path: start.texts[skill.path] for skill in known},
    )
    if done.changes and not done.changed:
        raise DreamFailed("no-change", "the edits undo each other")
    if why := guards.tripped(done, found):
        raise DreamFailed("guard", why, "Nothing was changed.")
    return done


def _decoded(file: File) -> str:
    return unified(file.data)[0].decode("utf-8", "surrogateescape")


def _encoded(text: str, old: File | None) -> File:
    """A text as the bytes of its file: line ends and mode as they were."""
    data = text.encode("utf-8", "surrogateescape")
    if old is None:
        return File(data)
    return replace(old, data=restored(data, crlf=unified(old.data)[1]))


def _sources(done: Draft) -> list[tuple[str, str]]:
    """One trailer for each fact that is new in the end."""
    kept = {path: set(draft.facts(text)) for path, text in done.changed.items()}
    return [
        source_trailer(change.edit.file, fact, change.edit.sources)
        for change in done.changes
        for fact in change.brought
        if fact in kept.get(change.edit.file, ())
    ]


def carry_out(opened: Opened, proposal: Proposal, commit_all: Callable[[], None]) -> CommitInfo:
    """Make a proposal true: the files and the Dream cursor together, one commit.

    Files that were edited since the model saw them are merged.

    Raises:
        DreamFailed: They cannot be merged, or another Dream was faster. Nothing was changed.
        RepositoryBusy: Writers kept coming in between.
    """
    commit = transaction.carry_out(opened, commit_all, lambda: snapshot(opened, proposal), action="dream")
    if commit is None:
        raise DreamFailed("overtaken", "another Dream has taken these entries meanwhile")
    return commit


def snapshot(opened: Opened, proposal: Proposal) -> Snapshot:
    """What a proposal makes of the files as they are committed now.

    Raises:
        DreamFailed: As for `carry_out`.
    """
    head = tip.current(opened).base
    if _dreamed(opened, head) != proposal.dreamed:
        raise DreamFailed("overtaken", "another Dream has taken these entries meanwhile")
    if not batches.unchanged(proposal.queue, _queue(opened, head), proposal.dreamed, proposal.batch.last):
        raise DreamFailed("overtaken", "the entries were changed meanwhile")
    changes = [
        rebased(opened.classify(path), path, (proposal.seen.get(path), opened.repo.file(head, path), file))
        for path, file in sorted(proposal.files.items())
    ]
    text = describe.dream((proposal.dreamed, proposal.batch.last), [c for c in changes if c.old != c.new], ())
    trailers = (*text.trailers, *proposal.sources, *proposal.cost)
    files: dict[TreePath, File | None] = {change.path: change.new for change in changes}
    cursor = File(str(proposal.batch.last).encode())
    return Snapshot(replace(text, trailers=trailers), {**files, DREAM_CURSOR: cursor})


def compact_history(opened: Opened, keep: int, commit_all: Callable[[], None]) -> CommitInfo | None:
    """Drop the oldest entries of the queue beyond `keep`, as far as Dream has processed them; None when there are none."""

    def plan() -> Snapshot | None:
        head = tip.current(opened).base
        queue, dreamed = opened.repo.file(head, HISTORY), _dreamed(opened, head)
        if queue is None:
            return None
        data = history.compact(queue.data, dreamed, keep)
        if data == queue.data:
            return None
        change = Change(HISTORY, queue, replace(queue, data=data))
        return Snapshot(describe.compacted_history(history_delta(change), dreamed), {HISTORY: change.new})

    return transaction.carry_out(opened, commit_all, plan, action="compact")
