"""Conversations in `sessions/*.jsonl` (memory-format, sections 1 and 2).

A session is a value: load it, make a changed one with `dataclasses.replace`, save that. A save compares with what was loaded;
what others wrote meanwhile is merged message by message, and never overwritten.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.core import checkpoint, fork, session, session_names
from gitmem.core.session import Message, Session
from gitmem.core.sessionedit import combined
from gitmem.edges import syscalls
from gitmem.errors import StaleSession, UsageError
from gitmem.store import placing
from gitmem.store.session_files import SessionFiles
from gitmem.store.session_list import SessionInfo, SessionList

__all__ = ["SessionInfo", "SessionStore"]

_TRIES = 20
"""How often a writer that takes no lock may come in between."""
_PENDING = "pending_user_turn"


class SessionStore:
    """The sessions of a workspace.

    Args:
        directory: The workspace.
        sessions: The folder they lie in, where it is another one than `sessions/`.
        fsync: Whether a save has to survive a power cut when it returns; a save may say otherwise.
    """

    def __init__(self, directory: Path, *, sessions: Path | None = None, fsync: bool = True) -> None:
        self.folder = sessions or directory / "sessions"
        self._fsync = fsync
        self._files = SessionFiles(self.folder)
        self._list = SessionList(self._files)

    def list(self) -> list[SessionInfo]:
        """Every session, by key. A file that did not change since the last list is not read again."""
        return self._list.read()

    def load(self, key: str) -> Session:
        """A session; an empty one where there is no file. What is wrong with a file is in `problems`, its bytes stay.

        Raises:
            UnsafePath: A link has the session's name.
        """
        path = self._files.find(key)
        data = None if path is None else placing.read(path)
        if data is not None:
            known = session.parse(data)
            return known if known.key else replace(known, metadata={**known.metadata, "key": key})
        now = _now()
        metadata = {
            "_type": session.METADATA,
            "key": key,
            "created_at": now,
            "updated_at": now,
            "metadata": {},
        }
        return Session(metadata=metadata)

    def save(self, changed: Session, *, fsync: bool | None = None) -> Session:
        """Save a session.

        Args:
            changed: What `load` or `save` gave, changed.
            fsync: Whether it has to survive a power cut; as the store was told by default.

        Returns:
            The session as it is on disk now; go on with this one.

        Raises:
            StaleSession: Others changed the same place since it was loaded. Nothing was written.
            UsageError: It has no key.
            RepositoryBusy: An agent holds the sessions' lock.
            UnsafePath: A link has the session's name.
        """
        with self._files.writing():
            return _put(self._files, changed, flush=self._fsync if fsync is None else fsync)

    def update(self, key: str, change: Callable[[Session], Session], *, fsync: bool | None = None) -> Session:
        """Load, change and save while no other store can come in between.

        Args:
            key: The session.
            change: Makes the changed session of the one on disk; if it changes nothing, nothing is written. It must not use the
                store, whose lock is held, and is called again where a writer that takes no lock came in between.
            fsync: As for `save`.

        Raises:
            StaleSession: Such a writer came in between again and again.
            RepositoryBusy: An agent holds the sessions' lock.
        """
        with self._files.writing():
            for tries_left in reversed(range(_TRIES)):
                known = self.load(key)
                changed = change(known)
                if changed == known:
                    return known
                try:
                    return _put(self._files, changed, flush=self._fsync if fsync is None else fsync)
                except StaleSession:
                    if not tries_left:
                        raise
        raise AssertionError("unreachable")

    def update_metadata(self, key: str, changes: Mapping[str, Any]) -> Session:
        """Set members of the session's state, such as `title`; None removes one. No byte of a message changes."""

        def change(known: Session) -> Session:
            state = {name: value for name, value in {**known.state, **changes}.items() if value is not None}
            if state == known.state:
                return known
            return replace(known, metadata={**known.metadata, "metadata": state})

        return self.update(key, change)

    def set_checkpoint(self, key: str, payload: Mapping[str, Any]) -> Session:
        """Record where a turn is, at once; `gitmem replay` makes messages of it after a crash."""
        return self.update_metadata(key, {checkpoint.CHECKPOINT: dict(payload)})

    def mark_pending(self, key: str) -> Session:
        """Record that a user's message waits for an answer."""
        return self.update_metadata(key, {_PENDING: True})

    def clear_checkpoint(self, key: str) -> Session:
        """The turn is over: forget its checkpoint and mark, also a checkpoint that is kept beside the session."""
        cleared = self.update_metadata(key, dict.fromkeys(checkpoint.VOLATILE))
        path = self._files.find(key)
        if path is not None and _sidecar(path).exists():
            with self._files.writing():
                _remove(_sidecar(path))
        return cleared

    def unarchived(self, key: str) -> tuple[Message, ...]:
        """The messages that a model still sees in full."""
        return session.unarchived(self.load(key))

    def retain(self, key: str, count: int) -> Session:
        """Drop the oldest messages beyond a legal suffix of `count`; archive them first, see `Memory.upkeep`."""
        return self.update(key, lambda known: session.trimmed(known, count))

    def delete(self, key: str) -> None:
        """Remove a session's file, and a checkpoint that is kept beside it.

        Raises:
            NotFound: There is none.
        """
        with self._files.writing():
            path = self._files.existing(key)
            _remove(_sidecar(path))  # first: alone it would be replayed into the next session of this key
            _remove(path)

    def fork(self, key: str, turn: int, new_key: str) -> Session:
        """Begin a session with the messages of another one before its n-th user turn, byte for byte.

        Args:
            key: The session to fork.
            turn: The turn that is left out with all that follows, from 1.
            new_key: The new session.

        Raises:
            NotFound: There is no such session.
            UsageError: There is no such turn, or the new key is taken.
        """
        with self._files.writing():
            source = placing.read(self._files.existing(key)) or b""
            made = fork.forked(source, new_key, turn, _now())
            if self._files.find(new_key) is not None:
                raise UsageError(f"there is a session {new_key} already", "Choose another key.")
            if not placing.place(self._files.new(new_key), None, made.data):
                raise StaleSession(f"somebody else began the session {new_key}", "Choose another key.")
        return session.parse(made.data)


def _put(files: SessionFiles, changed: Session, *, flush: bool) -> Session:
    """Save a session; the lock of its folder is held."""
    key = changed.key
    if key is None:
        raise UsageError("a session without a key cannot be saved", "Begin with load(key).")
    changed = replace(changed, metadata={**changed.metadata, "updated_at": _now()})
    mine = session.render(changed)
    for _ in range(_TRIES):
        path = files.find(key)
        disk = None if path is None else placing.read(path)
        data = mine if (disk or b"") == changed.origin.data else _merged(changed, disk, mine)
        if placing.place(path or files.new(key), disk, data, flush=flush):
            return session.parse(data)
    raise StaleSession(f"others keep writing the session {key}", "Try again.")


def _merged(changed: Session, disk: bytes | None, mine: bytes) -> bytes:
    """What was saved, put together with what others wrote since it was loaded."""
    if not changed.origin.data:
        raise StaleSession(
            f"somebody else began the session {changed.key}", "Load it, and make your change again."
        )
    if disk is None:
        raise StaleSession(f"the session {changed.key} was removed by others", "Load it, and begin it anew.")
    data = combined(changed.key or "", changed.origin.data, disk, mine)
    if data is None:
        raise StaleSession(
            f"the session {changed.key} was changed by others in the same place", "Load it again."
        )
    return data


def _sidecar(path: Path) -> Path:
    return path.with_name(session_names.sidecar_of(path.name))


def _remove(path: Path) -> None:
    """Remove a file for good; one that is not there is fine."""
    try:
        syscalls.unlink(path)
    except FileNotFoundError:
        return
    syscalls.fsync_dir(path.parent)


def _now() -> str:
    return dt.datetime.now().isoformat()  # noqa: DTZ005  sessions hold naive local times
