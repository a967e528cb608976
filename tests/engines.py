"""A workspace, an engine and a scripted model for tests of the memory engine."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from endpoint import Endpoint, Item
from gitmem.actions import begin
from gitmem.core import history
from gitmem.core.history import Entry
from gitmem.core.session import Session, parse
from gitmem.edges import config, workspace
from gitmem.edges.llm import Client
from gitmem.edges.llm import Endpoint as Place
from gitmem.edges.opened import Opened, open_workspace
from gitmem.engine import Engine, engine

LONG_AGO = 1_700_000_000


def said(number: int, role: str = "user") -> dict[str, Any]:
    """Message number so-and-so of a conversation."""
    return {"role": role, "content": f"m{number:02}", "timestamp": f"2026-01-05T10:{number % 60:02}:00"}


def talk(turns: int) -> list[dict[str, Any]]:
    """Turns of two messages each."""
    return [said(number, "assistant" if number % 2 else "user") for number in range(turns * 2)]


def session_bytes(
    key: str, messages: Sequence[Mapping[str, Any]], archived: int = 0, **state: object
) -> bytes:
    head = {"_type": "metadata", "key": key, "metadata": state, "last_consolidated": archived}
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in [head, *messages])


def write_session(root: Path, key: str, messages: Sequence[Mapping[str, Any]], archived: int = 0) -> Path:
    """A session that its agent has not touched for long."""
    path = root / "sessions" / f"{key.replace(':', '_')}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(session_bytes(key, messages, archived))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def write_history(root: Path, *contents: str, dreamed: int = 0) -> None:
    """A queue of entries with cursors from 1."""
    lines = [history.record(n, "2026-01-05 09:00", text, "cli:direct") for n, text in enumerate(contents, 1)]
    (root / "memory" / "history.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    (root / "memory" / ".cursor").write_text(str(len(contents)))
    (root / "memory" / ".dream_cursor").write_text(str(dreamed))


def make_workspace(root: Path) -> Path:
    """A native workspace under gitmem's care, with a few facts."""
    (root / "sessions").mkdir(parents=True)
    (root / "memory").mkdir()
    (root / "SOUL.md").write_text("# Soul\n\n- be brief\n")
    (root / "USER.md").write_text("# User\n\n- likes tea\n- lives in Lyon\n")
    (root / "memory" / "MEMORY.md").write_text(
        "# Memory\n\n## Server\n\n- backups go to /mnt/a\n- runs at 03:10\n"
    )
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    return root


def client(endpoint: Endpoint, timeout: float = 20.0) -> Client:
    """A model behind an endpoint; it never waits between tries."""

    async def at_once(seconds: float) -> None:
        del seconds

    return Client(Place(endpoint.url, "scripted", "none", timeout), sleep=at_once)


@contextmanager
def working(root: Path, endpoint: Endpoint | None = None, **settings: Any) -> Iterator[Engine]:
    """The engine of a workspace; without an endpoint no model is set."""
    values = config.load(root, settings)
    with open_workspace(workspace.find(root), values) as opened:
        work = engine(opened)
        if endpoint is not None:
            work.model = client(endpoint)
        yield work


@contextmanager
def scripted(root: Path, *script: Item, **settings: Any) -> Iterator[tuple[Engine, Endpoint]]:
    """An engine whose model follows a script."""
    with Endpoint(script) as endpoint, working(root, endpoint, **settings) as work:
        yield work, endpoint


def queue(root: Path) -> tuple[Entry, ...]:
    """The history entries on disk."""
    path = root / "memory" / "history.jsonl"
    return history.parse(path.read_bytes() if path.is_file() else b"").entries


def session(root: Path, key: str) -> Session:
    """A session on disk."""
    return parse((root / "sessions" / f"{key.replace(':', '_')}.jsonl").read_bytes())


def dreamed(root: Path) -> int:
    """The Dream cursor on disk."""
    path = root / "memory" / ".dream_cursor"
    return history.parse_cursor(path.read_bytes() if path.is_file() else None) or 0


def subjects(opened: Opened) -> list[str]:
    """Subjects of the branch, newest first."""
    return [info.subject for info in opened.repo.history(opened.repo.head())]


def tool_call_body(name: str, arguments: Mapping[str, Any]) -> Item:
    """An answer that calls a tool, whether any was offered or not."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    return {"body": {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}}


def add(text: str, *sources: int, file: str = "memory/MEMORY.md") -> dict[str, Any]:
    """An edit that adds a fact."""
    return {"file": file, "op": "add", "text": text, "sources": list(sources)}
