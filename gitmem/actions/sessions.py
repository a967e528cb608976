"""Sessions as a person handles them: the list of them, deleting one, forking one at a turn.

Deleting and forking only plan, as going back does (`undo`); carrying a plan out is `edges/plan`'s business.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.core import describe, session_names
from gitmem.core.checkpoint import RunState, run_state
from gitmem.core.describe.words import count, short_key
from gitmem.core.fork import forked
from gitmem.core.model import Change, File, Kind, Message, PathClass, Snapshot, TreePath
from gitmem.core.session import Session, parse
from gitmem.core.sessiondelta import session_delta
from gitmem.edges import plan, saves, tip
from gitmem.edges.opened import Opened, missing_root
from gitmem.edges.plan import Plan
from gitmem.errors import GitmemError, NotFound, UsageError


@dataclass(frozen=True)
class Known:
    """A session on disk.

    Attributes:
        key: Its key; what its file name stands for where the file does not say.
        path: Its file.
        session: What is in it.
        data: Its bytes.
        saved: When it was last saved, Unix seconds.
        turn: The turn that is under way or was interrupted; None between turns.
    """

    key: str
    path: TreePath
    session: Session
    data: bytes
    saved: float
    turn: RunState | None

    @property
    def stem(self) -> str:
        """Its file's name without the suffix."""
        return self.path.rpartition("/")[2].removesuffix(session_names.SUFFIX)

    @property
    def title(self) -> str:
        """The title its agent or a person gave it; empty where there is none."""
        title = self.session.state.get("title")
        return title if isinstance(title, str) else ""


def known(opened: Opened) -> list[Known]:
    """Every session on disk, the one saved last first.

    Raises:
        GitmemError: The folder they are kept in is missing.
    """
    missing = missing_root(opened.workspace)
    if missing is not None:
        raise GitmemError(
            f"{missing} is missing", "Mount or put back the folder; what was in it is in history."
        )
    found = [_read(opened, path) for path in _paths(opened)]
    return sorted((item for item in found if item is not None), key=lambda item: (-item.saved, item.path))


def find(opened: Opened, name: str) -> Known:
    """The session that a key, a path, or a file's stem means; a key goes first.

    Raises:
        NotFound: There is none.
        UsageError: Several files hold this key.
    """
    everything = known(opened)
    found = [item for item in everything if item.key == name] or [
        item for item in everything if name in (item.path, item.stem)
    ]
    if not found:
        raise NotFound(f"there is no session {name}", "See them all: gitmem sessions")
    if len(found) > 1:
        paths = ", ".join(item.path for item in found)
        raise UsageError(f"{len(found)} files hold the session {name}", f"Name one of: {paths}")
    return found[0]


def plan_delete(opened: Opened, name: str) -> Plan:
    """Remove a session, with the checkpoint an agent keeps beside it. Everything it held stays in history.

    Args:
        opened: The workspace; everything on disk is committed.
        name: Its key or path.

    Raises:
        NotFound: There is no such session.
        UsageError: Several files hold this key.
    """
    target = find(opened, name)
    head = tip.current(opened).base
    change = Change(target.path, opened.repo.file(head, target.path) or File(target.data), None)
    snapshot = Snapshot(describe.deleted_session(session_delta(change)), {target.path: None})
    sidecar = session_names.sidecar_of(target.path)
    beside = opened.read(sidecar).file
    return Plan(snapshot, (change,), (target.path,), {} if beside is None else {sidecar: beside})


def plan_fork(opened: Opened, name: str, key: str, before: int) -> Plan:
    """Make a session of the messages that another one holds before a user's turn.

    Args:
        opened: The workspace; everything on disk is committed.
        name: Key or path of the session to fork.
        key: The new session's key.
        before: Number of the turn, from 1, as in `core.fork.forked`.

    Raises:
        NotFound: There is no such session.
        UsageError: The new key is taken or empty, there is no such turn, or nothing before it.
    """
    source = find(opened, name)
    path = _path_for(opened, source, key)
    now = dt.datetime.fromtimestamp(opened.clock())  # noqa: DTZ006  workspaces hold naive local times
    made = forked(source.data, key, before, now.isoformat())
    subject = f"session({short_key(key)}): forked from {short_key(source.key)} before turn {before}"
    message = Message(
        Kind.SESSION,
        subject,
        (f"{count(made.messages, 'message')}; the other conversation is as it was.",),
        (("Gitmem-Session", key),),
    )
    return plan.of(opened, tip.current(opened).base, Snapshot(message, {path: File(made.data)}))


def _path_for(opened: Opened, source: Known, key: str) -> TreePath:
    """Where the new session goes: beside the other one, named the way its agent looks sessions up."""
    if not key.strip():
        raise UsageError("a session needs a key", "Such as: cli:direct-2")
    for item in known(opened):
        if item.key == key:
            raise UsageError(f"there is a session {key} already: {item.path}", "Choose another key.")
    folder = source.path.rpartition("/")[0]
    encoded = source.stem == session_names.nanobot_stem(source.key)
    stem = session_names.nanobot_stem(key) if encoded else session_names.file_stem(key)
    path = f"{folder}/{stem}{session_names.SUFFIX}"
    if opened.read(path).file is not None or opened.repo.entry(tip.current(opened).base, path) is not None:
        raise UsageError(f"{path} is there already and holds another session", "Choose another key.")
    return path


def _paths(opened: Opened) -> Iterator[TreePath]:
    return (path for path, _ in opened.walk() if opened.classify(path) is PathClass.SESSION)


def _read(opened: Opened, path: TreePath) -> Known | None:
    """A session; None when it went away meanwhile."""
    reading = opened.read(path)
    if reading.file is None or reading.signature is None:
        return None
    beside = opened.read(session_names.sidecar_of(path)).file
    session = parse(reading.file.data)
    stem = path.rpartition("/")[2].removesuffix(session_names.SUFFIX)
    return Known(
        key=session.key or session_names.key_from_stem(stem) or stem,
        path=path,
        session=session,
        data=reading.file.data,
        saved=_saved(session) or saves.saved_at(opened.repo.git, path, reading.signature),
        turn=run_state(session, None if beside is None else beside.data),
    )


def _saved(session: Session) -> float | None:
    """When the session says it was saved: it outlives copies of the file, and our own writes."""
    stated = session.metadata.get("updated_at")
    try:
        return dt.datetime.fromisoformat(stated).timestamp() if isinstance(stated, str) else None
    except (ValueError, OverflowError, OSError):
        return None
