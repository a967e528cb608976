"""The list of the sessions in a folder, and what each file says of itself."""

from dataclasses import dataclass
from pathlib import Path

from gitmem.core import session
from gitmem.store import placing
from gitmem.store.session_files import SessionFiles, Stamp, is_settled, stamp


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


class SessionList:
    """Lists sessions; a file that did not change since it was listed is not read again.

    Args:
        files: The files.
    """

    def __init__(self, files: SessionFiles) -> None:
        self._files = files
        self._known: dict[Path, tuple[Stamp, SessionInfo]] = {}

    def read(self) -> list[SessionInfo]:
        """Every session, by key."""
        found = [self._info(path) for path in self._files.all()]
        return sorted((info for info in found if info is not None), key=lambda info: (info.key, info.path))

    def _info(self, path: Path) -> SessionInfo | None:
        """What a file says; None where it went away meanwhile."""
        now = stamp(path)
        known = self._known.get(path)
        if known is not None and known[0] == now:
            return known[1]
        data = placing.read(path)
        if data is None or now is None:
            return None
        found = session.parse(data)
        updated = found.metadata.get("updated_at")
        info = SessionInfo(
            key=found.key or self._files.key(path),
            path=path,
            messages=len(found.messages),
            last_consolidated=found.last_consolidated,
            updated_at=updated if isinstance(updated, str) else "",
            problems=found.problems,
        )
        if is_settled(now):
            self._known[path] = now, info
        return info
