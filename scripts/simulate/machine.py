"""One machine: its files, the commit it is at, its clock."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from gitmem.core import checkpoint, session
from gitmem.core.model import MODE_FILE, File, PathClass, TreePath
from gitmem.core.session import Session
from simulate.oracle import Oracle
from simulate.store import Commit, Store, classify

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_SKEWS = (0, 0, 3, -40, 3000, -86_400 * 365)
"""Seconds by which clocks are wrong."""


@dataclass
class Common:
    """What all machines of a run share.

    Attributes:
        random: The run's chance.
        store: All commits.
        oracle: Told of every commit.
        violations: What was found wrong.
        keep: Entries that histories are compacted to.
        seconds: Time that has passed.
        written: Tokens given so far.
    """

    random: random.Random
    store: Store
    oracle: Oracle
    violations: list[str]
    keep: int
    seconds: int = 0
    written: int = 0


@dataclass
class Dream:
    """A Dream under way: what it has taken, and what was processed when it began."""

    last: int
    taken: frozenset[int]


@dataclass
class Machine:
    """A machine.

    Attributes:
        common: What all machines share.
        number: Which one it is.
        work: Its files.
        head: The commit it is at.
        published: The newest commit that it has seen at the remote.
        calls: Calls it still waits for: path of the session -> their ids.
        dream: The Dream under way.
    """

    common: Common
    number: int
    work: dict[TreePath, File] = field(default_factory=dict)
    head: Commit | None = None
    published: str | None = None
    calls: dict[TreePath, tuple[str, ...]] = field(default_factory=dict)
    dream: Dream | None = None

    def __post_init__(self) -> None:
        self.random = self.common.random
        self._skew = self.random.choice(_SKEWS)

    def token(self) -> str:
        """A new token."""
        self.common.written += 1
        return f"~{self.common.written}~"

    def now(self) -> str:
        """The time by this machine's clock, as agents write it."""
        return self._time().isoformat(timespec="microseconds").removesuffix("+00:00")

    def _time(self) -> datetime:
        self.common.seconds += 1
        micro = self.random.randrange(1_000_000)
        return _EPOCH + timedelta(seconds=self.common.seconds + self._skew, microseconds=micro)

    def read(self, path: TreePath) -> bytes | None:
        """A file's bytes; None where it does not exist."""
        file = self.work.get(path)
        return None if file is None else file.data

    def write(self, path: TreePath, data: bytes, mode: int | None = None) -> None:
        """Write a file; its mode stays unless given."""
        before = self.work.get(path)
        self.work[path] = File(data, mode or (before.mode if before else MODE_FILE))

    def session(self, path: TreePath) -> Session:
        """A session; a new one where there is no file."""
        data = self.read(path)
        if data is not None:
            return session.parse(data)
        return Session({"key": path, "created_at": self.now(), "metadata": {}})

    def save(self, path: TreePath, changed: Session) -> None:
        """Write a session as an agent does."""
        metadata = {**changed.metadata, "updated_at": self.now()}
        self.write(path, session.render(replace(changed, metadata=metadata)))

    def commit(self) -> None:
        """Commit what is on disk, without what belongs to this machine; nothing where nothing changed."""
        tree = {path: _committed(path, file) for path, file in self.work.items()}
        if (self.head is not None and tree == self.head.tree) or (self.head is None and not tree):
            return
        parents = () if self.head is None else (self.head.sha,)
        made = max([self._seconds(), *(self.common.store[sha].info.time for sha in parents)])
        message = f"edit: step {self.common.seconds}\n".encode()
        self.head = self.common.store.add(parents, tree, made, f"machine {self.number}", message)
        self.common.oracle.record(self.head)

    def _seconds(self) -> int:
        return int(self._time().timestamp())

    def install(self, commit: Commit) -> None:
        """Take the files of a commit, all at once; what belongs to this machine stays."""
        if commit is self.head:
            return
        self.head = commit
        self.work = {path: self._live(path, file) for path, file in commit.tree.items()}

    def _live(self, path: TreePath, file: File) -> File:
        before = self.work.get(path)
        if before is None or classify(path) is not PathClass.SESSION:
            return file
        return replace(file, data=checkpoint.overlay(file.data, before.data))


def _committed(path: TreePath, file: File) -> File:
    if classify(path) is not PathClass.SESSION:
        return file
    data = checkpoint.strip(file.data)
    return file if data == file.data else replace(file, data=data)


Operation = Callable[[Machine], None]
