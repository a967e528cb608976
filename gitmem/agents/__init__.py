"""What each agent's workspace looks like on disk. One small module an agent: `NAME`, `detect`, `layout`.

The first adapter that recognises a folder wins, so the particular ones stand before the general ones.
"""

from pathlib import Path
from types import ModuleType

from gitmem.agents import nanobot, native, plain
from gitmem.agents.layout import Layout
from gitmem.errors import UsageError

ADAPTERS: tuple[ModuleType, ...] = (nanobot, native, plain)
NAMES = tuple(adapter.NAME for adapter in ADAPTERS)

__all__ = ["ADAPTERS", "NAMES", "Layout", "detect", "layout"]


def detect(directory: Path) -> str:
    """The name of the adapter that recognises a folder."""
    return next(str(adapter.NAME) for adapter in ADAPTERS if adapter.detect(directory))


def layout(agent: str, directory: Path, sessions: Path | None = None) -> Layout:
    """The layout of a workspace.

    Raises:
        UsageError: There is no adapter of that name.
    """
    for adapter in ADAPTERS:
        if agent == adapter.NAME:
            found: Layout = adapter.layout(directory, sessions)
            return found
    raise UsageError(f"no agent is called {agent!r}", f"Known: {', '.join(NAMES)}")
