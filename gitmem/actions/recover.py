"""What a start does before anything else: clear what our own crash left, and finish operations it interrupted."""

from dataclasses import dataclass

from gitmem.core.model import CommitInfo
from gitmem.edges import indexfile, journal, transaction
from gitmem.edges.opened import Opened
from gitmem.errors import GitmemError


@dataclass(frozen=True)
class Recovered:
    """What recovery found.

    Attributes:
        finished: Commits of operations that are complete now.
        dropped: Records that could not be read, or whose branch went elsewhere; their files are captured as they are.
        waiting: Operations that cannot be finished now, and why; the next start tries again.
        locks: Lock files of our own killed processes that were removed.
    """

    finished: tuple[CommitInfo, ...] = ()
    dropped: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()


def recover(opened: Opened) -> Recovered:
    """Finish unfinished operations. Doing it twice is the same as once (invariant I8)."""
    with opened.writing():
        locks = opened.repo.refs.clear_own_locks()
        indexfile.clear_own_lock(opened.repo.git)
    finished: list[CommitInfo] = []
    dropped: list[str] = []
    waiting: list[str] = []
    for record, operation in journal.unfinished(opened.repo.git):
        if operation is None:
            record.rename(record.with_suffix(".damaged"))
        try:
            commit = None if operation is None else transaction.finish(opened, record, operation)
        except (GitmemError, OSError) as error:  # the record stays, and the next start tries again
            waiting.append(f"{record.name}: {error}")
            continue
        if commit is None:
            dropped.append(record.name)
        else:
            finished.append(commit)
    return Recovered(tuple(finished), tuple(dropped), tuple(waiting), tuple(str(lock) for lock in locks))
