"""gitmem: git history for an AI agent's memory, and the memory itself for an agent that has none.

The names below are loaded when they are used, so that `import gitmem` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitmem.errors import GitmemError
    from gitmem.memory import Memory
    from gitmem.store import HistoryStore, MemoryStore, SessionStore

__version__ = "0.1.0"
__all__ = ["GitmemError", "HistoryStore", "Memory", "MemoryStore", "SessionStore", "__version__"]

_PLACES = {
    "GitmemError": "gitmem.errors",
    "HistoryStore": "gitmem.store",
    "Memory": "gitmem.memory",
    "MemoryStore": "gitmem.store",
    "SessionStore": "gitmem.store",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'gitmem' has no attribute {name!r}")
