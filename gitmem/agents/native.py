"""gitmem's own layout: sessions/, memory/, skills/ and the long-term files, all inside the workspace (memory-format.md)."""

from pathlib import Path

from gitmem.agents.layout import Layout

NAME = "native"
_SIGNS = ("sessions", "memory/history.jsonl", "memory/MEMORY.md", "SOUL.md")


def detect(directory: Path) -> bool:
    """Whether the folder looks like a memory workspace."""
    return any((directory / sign).exists() for sign in _SIGNS)


def layout(directory: Path, sessions: Path | None = None) -> Layout:
    """The layout of a native workspace; `sessions` maps a folder outside it."""
    mapped = {} if sessions is None else {"sessions": sessions}
    lock = (sessions or directory / "sessions") / ".session-files.lock"
    return Layout(NAME, directory, mapped, session_lock=lock, remembers_itself=False)
