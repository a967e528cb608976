"""The small frozen values that flow through gitmem.

file-system event (dies in edges/watch) -> paths in a `Batch` -> `Change`s read from disk -> `Snapshot`s -> `CommitInfo`s.
There is one way to make a commit: a `Snapshot`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

TreePath: TypeAlias = str
"""A path inside the git tree: relative, `/` between parts, undecodable bytes as surrogate escapes."""

MODE_FILE = 0o100644
MODE_EXECUTABLE = 0o100755
MODE_SYMLINK = 0o120000


class Kind(StrEnum):
    """What a commit is about (gitstore, section 4)."""

    INIT = "init"
    SESSION = "session"
    CHECKPOINT = "checkpoint"
    REPLAY = "replay"
    CONSOLIDATE = "consolidate"
    COMPACT = "compact"
    DREAM = "dream"
    EDIT = "edit"
    FORGET = "forget"
    DELETE = "delete"
    REVERT = "revert"
    RESTORE = "restore"
    MERGE = "merge"
    CONFLICT = "conflict"
    MIGRATE = "migrate"
    FOREIGN = "foreign"
    """A commit made by somebody else: it has no `Gitmem-Kind` trailer. Never written, only read."""


class PathClass(StrEnum):
    """What a path means to gitmem (gitstore, section 2)."""

    MEMORY = "memory"
    SESSION = "session"
    HISTORY = "history"
    CURSOR = "cursor"
    ATTACHMENT = "attachment"
    SIDECAR = "sidecar"
    """An agent's checkpoint kept in a file beside the session: goes to the in-flight ref only."""
    LOCAL = "machine-local"
    SECRET = "secret"  # noqa: S105  the name of a class of paths
    CONFLICT_COPY = "conflict-copy"
    """Left by a file-sync tool: may hold lost text, so it is reported, never committed silently."""
    OTHER = "other"

    @property
    def versioned(self) -> bool:
        """Whether files of this class belong on the main branch."""
        return self in _VERSIONED


_VERSIONED = frozenset(
    {PathClass.MEMORY, PathClass.SESSION, PathClass.HISTORY, PathClass.CURSOR, PathClass.ATTACHMENT}
)


@dataclass(frozen=True, slots=True)
class File:
    """A file's exact bytes (a symbolic link's target) and its git mode."""

    data: bytes
    mode: int = MODE_FILE


@dataclass(frozen=True, slots=True)
class Change:
    """One path, before and after; `None` where it does not exist."""

    path: TreePath
    old: File | None
    new: File | None


@dataclass(frozen=True, slots=True)
class Notice:
    """What a hook or an agent told us: `event` happened, perhaps to `path` or `session`."""

    event: str
    path: TreePath | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Paths that became quiet together, each with the time (seconds, monotonic) it was first seen dirty."""

    first_seen: Mapping[TreePath, float]
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A commit message before it is text.

    `subject` is the whole first line, `body` its paragraphs' lines, `trailers` in writing order.
    """

    kind: Kind
    subject: str
    body: tuple[str, ...] = ()
    trailers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A commit not yet made: `files` maps each touched path to its new state, `None` meaning removal."""

    message: Message
    files: Mapping[TreePath, File | None]


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit as read from the repository; times are Unix seconds."""

    sha: str
    parents: tuple[str, ...]
    author: str
    time: int
    message: str
    kind: Kind = Kind.FOREIGN
    trailers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """First line of the message."""
        return self.message.split("\n", 1)[0]

    @property
    def session(self) -> str | None:
        """Key of the session it is about, where there is just one."""
        keys = self.trailers.get("Gitmem-Session", ())
        return keys[0] if len(keys) == 1 else None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person may want to know about what a writer did; it never blocks by itself."""

    rule: str
    path: TreePath
    text: str
