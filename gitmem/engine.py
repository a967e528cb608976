"""The memory engine at work in one workspace: what the commands, the daemon's helper process and the library all call.

It puts the use cases together: which sessions need archiving, how many batches a Dream takes, what the ledger learns. One
engine runs at a time, so a model is never asked two things at once.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gitmem.actions import consolidate, dream, review, undo
from gitmem.actions.capture import Capture
from gitmem.actions.consolidate import Archived, Choice
from gitmem.actions.dream import Proposal
from gitmem.core import consolidation, tokens
from gitmem.core.checkpoint import is_mid_turn
from gitmem.core.completion import Usage
from gitmem.core.consolidation import Chunk
from gitmem.core.model import CommitInfo, PathClass, TreePath
from gitmem.core.session import Session, parse
from gitmem.edges import gitindex, ledger, llm, saves, tip
from gitmem.edges.ledger import Run
from gitmem.edges.llm import Client
from gitmem.edges.opened import Opened
from gitmem.errors import DreamFailed, GitmemError, ModelError, NotFound, SessionInUse

_PATIENCE = 1.0
_MINUTE = 60.0


def engine(opened: Opened) -> "Engine":
    """The engine of a workspace: it commits what is on disk as a capture does, and keeps `git status` clean."""
    capture = Capture(opened)
    outside = frozenset(opened.workspace.layout.mapped)

    def commit_all() -> None:
        paths = capture.scan()
        outcome = capture.run(paths, overdue=paths)
        if outcome.missing is not None:
            raise GitmemError(
                f"{outcome.missing} is missing", "Mount or put back the folder; nothing was done."
            )
        gitindex.refresh(opened.repo, outcome.moved, outside)

    def committed(commit: CommitInfo) -> None:
        gitindex.refresh(opened.repo, gitindex.moved_by(opened.repo, commit.sha), outside)

    return Engine(opened, commit_all, committed)


@dataclass
class Engine:
    """One engine for one open workspace.

    Attributes:
        opened: The workspace.
        commit_all: Commits everything on disk.
        committed: Told of each commit, in order.
        model: Who is asked; made of the settings at the first need.
        speaks_for_agent: Whether the caller is the agent: then no session is held in a memory that we do not know of.
    """

    opened: Opened
    commit_all: Callable[[], None]
    committed: Callable[[CommitInfo], None]
    model: Client | None = None
    speaks_for_agent: bool = False

    def _asked(self) -> Client:
        if self.model is None:
            self.model = Client(llm.endpoint(self.opened.settings))
        return self.model

    def _model_or_none(self) -> Client | None:
        """The model for archiving, which also works without one."""
        try:
            return self._asked()
        except ModelError:
            return None

    def path_of(self, key: str) -> TreePath:
        """The file of a session.

        Raises:
            NotFound: There is no such session.
        """
        for path in self.sessions():
            if key in (path, self._session(path).key):
                return path
        raise NotFound(f"there is no session {key}", "See them all: gitmem sessions")

    def sessions(self) -> list[TreePath]:
        """Every session on disk."""
        walk = self.opened.walk()
        return sorted(path for path, _ in walk if self.opened.classify(path) is PathClass.SESSION)

    def _session(self, path: TreePath) -> Session:
        file = self.opened.read(path).file
        return parse(b"" if file is None else file.data)

    def under_pressure(self, path: TreePath) -> bool:
        """Whether a session is too much for the model's context window, or for its file."""
        session = self._session(path)
        return self._pressed(session) is not None or len(session.messages) > consolidation.FILE_CAP

    def _pressed(self, session: Session) -> Chunk | None:
        settings = self.opened.settings
        budget = settings.context_window - settings.max_completion - consolidation.SAFETY
        target = int(budget * settings.consolidation_ratio)
        over_cap = len(session.messages) > consolidation.FILE_CAP
        falls_off = consolidation.down_to_suffix(session, consolidation.FILE_CAP) if over_cap else None
        return falls_off or consolidation.under_pressure(session, budget, target, tokens.estimate_messages)

    def relieve(self, path: TreePath) -> Iterator[Archived]:
        """Archive what is too much of a session, and drop from its file what is archived and over the cap."""
        yield from self._archive(path, self._pressed)
        if len(self._session(path).messages) > consolidation.FILE_CAP:
            self._told(consolidate.trim(self.opened, path, consolidation.FILE_CAP, self.commit_all))

    def archive(self, path: TreePath, kept: int) -> Iterator[Archived]:
        """Archive all of a session but its last messages, at most `kept`."""

        def rest(session: Session) -> Chunk | None:
            return consolidation.down_to_suffix(session, kept) if kept else consolidation.everything(session)

        yield from self._archive(path, rest)

    def compact(self, path: TreePath, *, patient: bool = False) -> Iterator[Archived]:
        """Archive all of a session but a legal suffix, and drop from its file what is archived (AutoCompact)."""

        def rest(session: Session) -> Chunk | None:
            return consolidation.down_to_suffix(session, consolidation.RETAINED)

        yield from self._archive(path, rest, patient=patient)
        self._told(consolidate.trim(self.opened, path, consolidation.RETAINED, self.commit_all))

    def _archive(self, path: TreePath, choose: Choice, *, patient: bool = False) -> Iterator[Archived]:
        if choose(self._session(path)) is None:
            return
        with self._one_at_a_time(), self._noted("consolidate") as note:
            model = self._model_or_none()
            for done in consolidate.consolidate(
                self.opened, path, choose, model, self.commit_all, patient=patient
            ):
                if done.failure is not None:
                    note.degraded(done.failure)
                self._told(done.commit)
                yield done

    def idle(self, minutes: float) -> list[TreePath]:
        """Sessions that were not saved for so long and have something to compact."""
        found = []
        for path, signature in self.opened.walk():
            if self.opened.classify(path) is PathClass.SESSION:
                age = self.opened.clock() - saves.saved_at(self.opened.repo.git, path, signature)
                if age >= minutes * _MINUTE and len(self._session(path).messages) > consolidation.RETAINED:
                    found.append(path)
        return sorted(found)

    def in_use(self, path: TreePath) -> str | None:
        """Why a session is better left alone now; None when it may be changed."""
        if self.speaks_for_agent:
            file = self.opened.read(path).file
            return f"{path} is in the middle of a turn" if file and is_mid_turn(file.data) else None
        try:
            undo.check_in_use(self.opened, [path])
        except SessionInUse as error:
            return str(error)
        return None

    def dream(self) -> Iterator[CommitInfo]:
        """Take entries into memory, batch after batch, until none is left or the budget is spent; then compact the queue.

        Yields:
            The commit of each batch.

        Raises:
            DreamFailed: A run failed; those before it stand.
            ModelError: The model gave no answer.
            NeedsDecision: A proposal waits for a person.
        """
        settings = self.opened.settings
        until = time.monotonic() + settings.dream_seconds
        with self._one_at_a_time():
            review.check_none_waits(self.opened)
            model = self._asked()
            for _ in range(settings.dream_runs):
                with self._noted("dream"):
                    commit = self._dream_once(model)
                if commit is None:
                    break
                yield commit
                if model.usage.total >= settings.dream_tokens or time.monotonic() >= until:
                    break
            self.compact_history()

    def compact_history(self) -> None:
        """Drop the oldest entries of the queue, as far as Dream has taken them in."""
        keep = self.opened.settings.max_history_entries
        self._told(dream.compact_history(self.opened, keep, self.commit_all))

    def _dream_once(self, model: Client) -> CommitInfo | None:
        self.commit_all()
        proposal = dream.propose(self.opened, model)
        if proposal is None:
            return None
        commit = dream.carry_out(self.opened, proposal, self.commit_all)
        self._told(commit)
        return commit

    def propose(self) -> Proposal | None:
        """What the next batch would make of memory; nothing is changed."""
        with self._one_at_a_time(), self._noted("dream"):
            self.commit_all()
            return dream.propose(self.opened, self._asked())

    def keep_for_review(self, proposal: Proposal) -> CommitInfo:
        """Leave a proposal for a person to accept or reject."""
        return review.keep(self.opened, dream.snapshot(self.opened, proposal))

    def decide(self, *, accepted: bool) -> CommitInfo:
        """Accept or reject the proposal that waits."""
        decide = review.accept if accepted else review.reject
        commit = decide(self.opened, self.commit_all)
        self._told(commit)
        return commit

    def proposal_waits(self) -> bool:
        """Whether a person has to decide about a proposal first."""
        return review.waiting(self.opened) is not None

    def unread(self) -> int:
        """How many history entries no Dream has seen."""
        return dream.unread(self.opened, tip.current(self.opened).base)

    def _told(self, commit: CommitInfo | None) -> None:
        if commit is not None:
            self.committed(commit)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        with ledger.engine_lock(self.opened.repo.git).hold(_PATIENCE):
            yield

    @contextmanager
    def _noted(self, sort: str) -> Iterator["_Note"]:
        """Write down how a run went and what it cost, however it ends."""
        note = _Note()
        started, spent = time.monotonic(), self.model.usage if self.model is not None else Usage()
        try:
            yield note
        except Exception as error:
            note.failed(error)
            raise
        finally:
            used = self.model.usage if self.model is not None else Usage()
            ledger.note(
                self.opened.repo.git,
                sort,
                Run(
                    at=self.opened.clock(),
                    outcome=note.outcome,
                    reason=note.reason,
                    text=note.text,
                    seconds=time.monotonic() - started,
                    prompt_tokens=used.prompt - spent.prompt,
                    completion_tokens=used.completion - spent.completion,
                ),
            )


@dataclass
class _Note:
    """How a run went, as far as it has got."""

    outcome: str = "completed"
    reason: str | None = None
    text: str | None = None

    def degraded(self, failure: ModelError) -> None:
        """It was done, but not well."""
        self.outcome, self.reason, self.text = "degraded", failure.reason, str(failure)

    def failed(self, error: Exception) -> None:
        """It was not done."""
        reason = error.reason if isinstance(error, DreamFailed | ModelError) else "error"
        self.outcome, self.reason, self.text = "failed", reason, str(error)
