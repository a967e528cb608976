"""The stores of a memory workspace, for agents that write it themselves: plain files, locks, no repository needed.

They may be used by many threads and processes at once, beside the daemon and beside other agents.
"""

from gitmem.store.history import HistoryStore
from gitmem.store.longterm import MemoryStore, Text
from gitmem.store.sessions import SessionInfo, SessionStore

__all__ = ["HistoryStore", "MemoryStore", "SessionInfo", "SessionStore", "Text"]
