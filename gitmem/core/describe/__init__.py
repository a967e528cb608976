"""Commit messages told from the files themselves: a subject, a body of facts, trailers for programs (gitstore, section 4)."""

from gitmem.core.describe.archive import compacted_history, consolidation, dream, edited_history, migration
from gitmem.core.describe.files import attention, edits, first, removed
from gitmem.core.describe.sessions import (
    compacted_session,
    deleted_session,
    many_sessions,
    phase,
    saved_session,
)

__all__ = [
    "attention",
    "compacted_history",
    "compacted_session",
    "consolidation",
    "deleted_session",
    "dream",
    "edited_history",
    "edits",
    "first",
    "many_sessions",
    "migration",
    "phase",
    "removed",
    "saved_session",
]
