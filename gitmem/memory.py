"""A whole memory for an agent that has none: sessions, history, long-term files, kept as git history (see the README).

with Memory("~/agent") as memory:
    memory.record("cli:me", {"role": "user", "content": question})
    answer = ask_your_model(memory.context("cli:me"))
    memory.record("cli:me", {"role": "assistant", "content": answer})
    memory.upkeep()
"""

import datetime as dt
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gitmem import chores
from gitmem.actions import begin
from gitmem.core.dreaming.draft import LONG_TERM
from gitmem.core.session import Session, for_request, unarchived
from gitmem.edges import config, workspace
from gitmem.edges.opened import open_workspace
from gitmem.engine import engine
from gitmem.errors import NoWorkspace
from gitmem.store import HistoryStore, MemoryStore, SessionStore


class Memory:
    """An agent's memory in a folder. Use it as a context manager, or call `close`.

    One process at a time speaks for an agent. The daemon may run beside it; then `upkeep` is its work.

    Attributes:
        directory: The folder.
        sessions: The conversations.
        history: The queue of archived pieces.
        files: The long-term files.
        engine: Archiving and Dreams, step by step.
    """

    def __init__(self, directory: str | Path, **settings: Any) -> None:
        """Open the memory in a folder; an empty or missing folder becomes one.

        Args:
            directory: The folder.
            settings: What differs from the settings files, such as `model="..."`; see `gitmem config`.

        Raises:
            GitmemError: The folder's repository is refused, or a setting is wrong.
        """
        self.directory = Path(directory).expanduser().resolve()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._stack = ExitStack()
        opened = self._stack.enter_context(
            open_workspace(_workspace(self.directory), config.load(self.directory, settings))
        )
        self.sessions = SessionStore(self.directory, sessions=opened.workspace.layout.mapped.get("sessions"))
        self.history = HistoryStore(self.directory)
        self.files = MemoryStore(self.directory)
        self.engine = replace(engine(opened), speaks_for_agent=True)
        self.engine.commit_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commit what is on disk and let go of the repository."""
        try:
            self.engine.commit_all()
        finally:
            self._stack.close()

    def record(self, key: str, *messages: Mapping[str, Any]) -> Session:
        """Add messages to a conversation: saved, and committed.

        Args:
            key: The conversation, such as `cli:me`.
            messages: In OpenAI chat form; each gets a `timestamp` where it has none.

        Returns:
            The conversation as it is saved now.
        """
        now = dt.datetime.now().isoformat(timespec="seconds")  # noqa: DTZ005  sessions hold naive local times
        known = self.sessions.load(key)
        added = [{"timestamp": now, **message} for message in messages]
        saved = self.sessions.save(replace(known, messages=(*known.messages, *added)))
        self.engine.commit_all()
        return saved

    def context(self, key: str) -> list[dict[str, Any]]:
        """What to send to a model for the next turn of a conversation: long-term memory, what was archived last, the messages."""
        session = self.sessions.load(key)
        parts = [f"# {path}\n\n{text}" for path in LONG_TERM if (text := self.files.read(path).text.strip())]
        if skills := self.files.skills():
            listed = "\n".join(f"- {skill.name}: {skill.description} ({skill.path})" for skill in skills)
            parts.append(f"# Skills\n\n{listed}")
        summary = session.state.get("_last_summary")
        if isinstance(summary, dict) and isinstance(summary.get("text"), str):
            parts.append(f"# Earlier in this conversation\n\n{summary['text']}")
        system = [{"role": "system", "content": "\n\n".join(parts)}] if parts else []
        return [*system, *(_sendable(message) for message in for_request(unarchived(session)))]

    def upkeep(self) -> list[str]:
        """Archive, compact and dream as far as it is due; the same that the daemon does by itself.

        Blocks while a model is asked. In a program with an event loop, call it with `asyncio.to_thread`.

        Returns:
            Subjects of the commits it made.
        """
        return list(chores.do(self.engine.opened, self.engine)["did"])


def _workspace(directory: Path) -> workspace.Workspace:
    try:
        found = workspace.find(directory)
    except NoWorkspace:
        found = None
    if found is not None and found.directory == directory:
        return found
    agent = None if any(directory.iterdir()) else "native"
    return begin.begin(begin.plan(directory, agent, None, adopt=False, separate=False))


_SENT = ("role", "content", "tool_calls", "tool_call_id", "name")


def _sendable(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message without the fields that only memory knows; some servers refuse those."""
    return {name: message[name] for name in _SENT if name in message}
