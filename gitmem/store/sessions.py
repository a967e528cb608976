"""Conversations in `sessions/*.jsonl` (memory-format, sections 1 and 2).

A session is a value: load it, make a changed one with `dataclasses.replace`, save that. A save compares with what was loaded;
what others wrote meanwhile is merged message by message, and never overwritten.
"""

import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitmem.core import checkpoint, fork, jsonl, session, session_names
from gitmem.core.merge.session import merge_session
from gitmem.core.session import Message, Session
from gitmem.edges import durable, syscalls
from gitmem.edges.lock import session_files_lock
from gitmem.errors import NotFound, Stale, UsageError

_PATIENCE = 10.0
_HEAD = 1 << 16
"""Bytes of a file in which its key is looked for."""
_PENDING = "pending_user_turn"


@dataclass(frozen=True)
class SessionInfo:
    """One session in a list.

    Attributes:
        key: Its key; its file's stem where the file does not say.
        path: Its file.
        messages: How many messages it holds.
        last_consolidated: How many of them are archived.
        updated_at: When it was saved, as it says itself; empty where it does not.
        problems: What is wrong with the file.
    """

    key: str
    path: Path
    messages: int
    last_consolidated: int
    updated_at: str
    problems: tuple[str, ...]


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

    def list(self) -> list[SessionInfo]:
        """Every session, by key."""
        found = []
        for path in self._files():
            known = session.parse(path.read_bytes())
            key = known.key or path.name.removesuffix(session_names.SUFFIX)
            updated = known.metadata.get("updated_at")
            found.append(
                SessionInfo(
                    key=key,
                    path=path,
                    messages=len(known.messages),
                    last_consolidated=known.last_consolidated,
                    updated_at=updated if isinstance(updated, str) else "",
                    problems=known.problems,
                )
            )
        return sorted(found, key=lambda info: (info.key, info.path))

    def load(self, key: str) -> Session:
        """A session; an empty one where there is no file. What is wrong with a file is in `problems`, its bytes stay."""
        path = self._find(key)
        if path is not None:
            known = session.parse(path.read_bytes())
            return known if known.key else replace(known, metadata={**known.metadata, "key": key})
        now = _now()
        metadata = {"_type": "metadata", "key": key, "created_at": now, "updated_at": now, "metadata": {}}
        return Session(metadata=metadata)

    def save(self, changed: Session, *, fsync: bool | None = None) -> Session:
        """Save a session.

        Args:
            changed: What `load` or `save` gave, changed.
            fsync: Whether it has to survive a power cut; as the store was told by default.

        Returns:
            The session as it is on disk now; go on with this one.

        Raises:
            Stale: Others changed the same place since it was loaded. Nothing was written.
            UsageError: It has no key.
            RepositoryBusy: An agent holds the sessions' lock.
        """
        key = changed.key
        if key is None:
            raise UsageError("a session without a key cannot be saved", "Begin with load(key).")
        changed = replace(changed, metadata={**changed.metadata, "updated_at": _now()})
        with self._writing():
            path = self._find(key) or self._new_path(key)
            disk = path.read_bytes() if path.exists() else b""
            data = session.render(changed)
            if disk != changed.origin.data:
                data = _merged(changed, disk, data)
            durable.replace(path, data, 0o600, flush=self._fsync if fsync is None else fsync)
        return session.parse(data)

    def update(self, key: str, change: Callable[[Session], Session], *, fsync: bool | None = None) -> Session:
        """Load, change and save, again where others came in between.

        Args:
            key: The session.
            change: Makes the changed session of the one on disk; may be called more than once.
            fsync: As for `save`.
        """
        return self.save(change(self.load(key)), fsync=fsync)

    def update_metadata(self, key: str, values: Mapping[str, Any]) -> Session:
        """Set members of the session's state, such as `title`; None removes one. No byte of a message changes."""

        def change(known: Session) -> Session:
            state = {name: value for name, value in {**known.state, **values}.items() if value is not None}
            return replace(known, metadata={**known.metadata, "metadata": state})

        return self.update(key, change)

    def set_checkpoint(self, key: str, payload: Mapping[str, Any]) -> Session:
        """Record where a turn is, at once and durably; `gitmem replay` makes messages of it after a crash."""
        return self.update_metadata(key, {checkpoint.CHECKPOINT: dict(payload)})

    def mark_pending(self, key: str) -> Session:
        """Record that a user's message waits for an answer."""
        return self.update_metadata(key, {_PENDING: True})

    def clear_checkpoint(self, key: str) -> Session:
        """The turn is over: forget its checkpoint and mark."""
        return self.update_metadata(key, dict.fromkeys(checkpoint.VOLATILE))

    def unarchived(self, key: str) -> tuple[Message, ...]:
        """The messages that a model still sees in full."""
        return session.unarchived(self.load(key))

    def retain(self, key: str, count: int) -> Session:
        """Drop the oldest messages beyond a legal suffix of `count`; archive them first, see `Memory.upkeep`."""
        return self.update(key, lambda known: session.trimmed(known, count))

    def delete(self, key: str) -> None:
        """Remove a session's file.

        Raises:
            NotFound: There is none.
        """
        with self._writing():
            path = self._existing(key)
            syscalls.unlink(path)
            syscalls.fsync_dir(path.parent)

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
        with self._writing():
            made = fork.forked(self._existing(key).read_bytes(), new_key, turn, _now())
            if self._find(new_key) is not None:
                raise UsageError(f"there is a session {new_key} already", "Choose another key.")
            durable.replace(self._new_path(new_key), made.data, 0o600)
        return session.parse(made.data)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        durable.make_folders(self.folder)
        with session_files_lock(self.folder / ".session-files.lock", _PATIENCE):
            yield

    def _existing(self, key: str) -> Path:
        path = self._find(key)
        if path is None:
            raise NotFound(f"there is no session {key}", "See them all: gitmem sessions")
        return path

    def _files(self) -> Iterator[Path]:
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if path.name.endswith(session_names.SUFFIX) and path.is_file() and not path.is_symlink():
                    yield path

    def _find(self, key: str) -> Path | None:
        """The file that holds a session: by its likely names first, then by what the files say."""
        stems = (
            session_names.file_stem(key),
            session_names.nanobot_stem(key),
            session_names.legacy_stem(key),
        )
        likely = [self.folder / f"{stem}{session_names.SUFFIX}" for stem in stems if _is_name(stem)]
        for path in likely:
            if path.is_file() and not path.is_symlink() and _key_of(path) in (key, None):
                return path
        return next((path for path in self._files() if path not in likely and _key_of(path) == key), None)

    def _new_path(self, key: str) -> Path:
        return self.folder / f"{session_names.file_stem(key)}{session_names.SUFFIX}"


def _merged(changed: Session, disk: bytes, data: bytes) -> bytes:
    """What was saved, put together with what others wrote since it was loaded."""
    name = changed.key or ""
    if not changed.origin.data and disk:
        raise Stale(f"somebody else began the session {name}", "Load it, and make your change again.")
    merged, conflicts = merge_session(name, changed.origin.data, disk or None, data)
    if conflicts or merged is None:
        raise Stale(f"the session {name} was changed by others in the same place", "Load it again.")
    return checkpoint.overlay(merged, data)


def _is_name(stem: str) -> bool:
    return "/" not in stem and "\0" not in stem and 0 < len(os.fsencode(stem)) <= 240


def _key_of(path: Path) -> str | None:
    """The key that a file says it has; None where its first lines do not say."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    for line in head.split(b"\n")[:5]:
        record = jsonl.decode(line) or {}
        if record.get("_type") == session.METADATA and isinstance(record.get("key"), str):
            return str(record["key"])
    whole = session.parse(path.read_bytes()) if len(head) == _HEAD or b"metadata" in head else None
    return None if whole is None else whole.key


def _now() -> str:
    return dt.datetime.now().isoformat()  # noqa: DTZ005  sessions hold naive local times
