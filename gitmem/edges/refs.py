"""Reading refs, and moving one by compare-and-swap.

The swap follows git's own protocol (`<ref>.lock`, then rename) so that git programs and we exclude each other. The lock is made
as a hard link to a file in our state folder, which is how a lock that *our* killed process left behind can be told from
somebody else's: ours is removed at the next start, another's is never stolen (gitstore, section 1).
"""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from dulwich.objects import ObjectID
from dulwich.refs import DiskRefsContainer, Ref

from gitmem.edges import durable, process, syscalls
from gitmem.edges.gitdir import GitDir
from gitmem.errors import RepositoryBusy, RepositoryRefused

_PATIENCE = 2.0
"""Seconds to wait for another program's ref lock; git holds one for milliseconds."""
_ZERO = "0" * 40


@dataclass(frozen=True)
class Reflog:
    """What goes into the reflog beside the two commits.

    Attributes:
        who: `Name <mail>` of the committer.
        time: Unix seconds.
        reason: One line.
    """

    who: str
    time: int
    reason: str


class Refs:
    """The refs of one repository."""

    def __init__(self, git: GitDir) -> None:
        self._git = git
        self._disk = DiskRefsContainer(str(git.common), str(git.control))

    def read(self, ref: str) -> str | None:
        """The commit a ref names; None where there is no such ref.

        Raises:
            RepositoryRefused: The ref file is damaged (empty after a power cut, say).
        """
        try:
            value = self._disk.read_ref(Ref(ref.encode()))
        except (OSError, ValueError) as error:
            raise RepositoryRefused(f"ref {ref} cannot be read: {error}") from error
        if value is None:
            self._check_not_empty(ref)
            return None
        name = value.decode("ascii", "replace").strip()
        if len(name) != 40 or any(c not in "0123456789abcdef" for c in name):
            raise self._damaged(ref)
        return name

    def _check_not_empty(self, ref: str) -> None:
        if self.path(ref).is_file():
            raise self._damaged(ref)

    def _damaged(self, ref: str) -> RepositoryRefused:
        return RepositoryRefused(
            f"ref {ref} is damaged: {self.path(ref)} does not hold a commit",
            f"Nothing was written. Its last value stands at the end of {self._git.common / 'logs' / ref}; "
            "put it back, then run: gitmem doctor",
        )

    def path(self, ref: str) -> Path:
        """The file a loose ref lives in."""
        return self._git.common / ref

    def below(self, prefix: str) -> dict[str, str]:
        """All refs that start with `prefix` (ending in `/`), by full name."""
        found = self._disk.as_dict(Ref(prefix.rstrip("/").encode()))
        return {prefix + name.decode("utf-8", "replace"): sha.decode("ascii") for name, sha in found.items()}

    def move(self, ref: str, old: str | None, new: str, log: Reflog) -> bool:
        """Set `ref` to `new` if it still is `old` (None: does not exist). On the disk when this returns.

        Returns:
            False when somebody else moved it.

        Raises:
            RepositoryBusy: Another program holds the ref's lock for longer than we wait.
        """
        path = self.path(ref)
        durable.make_folders(path.parent)
        lock = path.with_name(path.name + ".lock")
        mine = self._git.state / f"ref-lock-{os.getpid()}-{threading.get_ident()}"
        durable.write_new(mine, new.encode("ascii") + b"\n", 0o600)
        try:
            self._take(lock, mine)
            if not self._replace(ref, old, lock):
                return False
        finally:
            mine.unlink(missing_ok=True)
        syscalls.fsync_dir(path.parent)
        self._log(ref, old or _ZERO, new, log)
        return True

    def _replace(self, ref: str, old: str | None, lock: Path) -> bool:
        """Let a taken lock become the ref, if the ref still is `old`; the lock is gone in any case."""
        try:
            if self.read(ref) == old:
                syscalls.replace(lock, self.path(ref))
                return True
        except BaseException:
            lock.unlink(missing_ok=True)
            raise
        syscalls.unlink(lock)
        return False

    @staticmethod
    def _take(lock: Path, mine: Path) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                syscalls.link(mine, lock)
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise RepositoryBusy(
                        f"{lock} is held by another program",
                        "If none is running: gitmem doctor --fix",
                        lock=str(lock),
                    ) from None
                time.sleep(0.01)
            else:
                return

    def _log(self, ref: str, old: str, new: str, log: Reflog) -> None:
        line = f"{old} {new} {log.who} {log.time} +0000\t{log.reason}\n".encode("utf-8", "replace")
        targets = [self._git.common / "logs" / ref]
        if (self._git.control / "HEAD").read_text("utf-8", "replace").strip() == f"ref: {ref}":
            targets.append(self._git.control / "logs" / "HEAD")
        for target in targets:
            durable.make_folders(target.parent)
            durable.append(target, line, 0o600)

    def delete(self, ref: str, old: str) -> bool:
        """Remove a ref if it still is `old`."""
        return bool(self._disk.remove_if_equals(Ref(ref.encode()), ObjectID(old.encode("ascii"))))

    def clear_own_locks(self) -> list[Path]:
        """Remove ref locks that a killed process of ours left behind. Call it under the workspace's write lock.

        Returns:
            The lock files removed.
        """
        removed: list[Path] = []
        for mine in self._git.state.glob("ref-lock-*"):
            if process.alive(int(mine.name.split("-")[2])):
                continue
            for lock in (self._git.common / "refs").rglob("*.lock"):
                if lock.samefile(mine):
                    lock.unlink()
                    removed.append(lock)
            mine.unlink(missing_ok=True)
        return removed
