"""Changing files on disk and history together: all of it, or nothing, also across a crash.

Order: store the commit, record the operation, install each file (only over the bytes that were committed), move the ref, forget
the record. A crash before the record leaves the old state; after it, the next start finishes the rest (gitstore, section 8).
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from gitmem.core import checkpoint
from gitmem.core.model import CommitInfo, File, PathClass, Snapshot, TreePath
from gitmem.edges import account, files, inflight, journal, saves, tip, views
from gitmem.edges.journal import Operation
from gitmem.edges.lock import history_lock, session_files_lock
from gitmem.edges.opened import Opened
from gitmem.edges.tip import Tip
from gitmem.edges.views import Views
from gitmem.errors import NeedsDecision, RepositoryBusy

_AGENT_PATIENCE = 1.0
"""Seconds to wait for the agent's own session lock (merge.md, section 5); then later, rather than in its way."""
_QUEUE_PATIENCE = 10.0
"""Seconds to wait for another writer of the history queue; each holds its lock for milliseconds."""
_TRIES = 5
_PAUSE = 0.3


_QUEUE = (PathClass.HISTORY, PathClass.CURSOR)

_Step = tuple[TreePath, File | None, File | None]
"""A path, what must be on disk now, what shall be there."""


def apply(
    opened: Opened,
    snapshot: Snapshot,
    *,
    action: str,
    ended: Collection[TreePath] = (),
    remove: Mapping[TreePath, File] | None = None,
) -> CommitInfo | None:
    """Make a snapshot true on disk and in history.

    Args:
        opened: The workspace. What is on disk must be committed already.
        snapshot: The files to change, as they belong in the tree, and the message.
        action: Name for the journal.
        ended: Sessions whose unfinished turn ends with this: their run state is not put back on disk.
        remove: Files outside the tree to remove from the disk, with the bytes they must still have.

    Returns:
        The commit; None when history has it all already and only the disk was behind.

    Raises:
        RepositoryBusy: A file or the branch changed since it was committed; nothing was done, try again.
        NeedsDecision: A person is in the middle of a merge or the like.
    """
    with opened.writing(), writers_locks(opened, snapshot.files):
        target = tip.current(opened)
        if target.operation is not None:
            raise NeedsDecision(
                f"a {target.operation} is in progress in this repository",
                "Finish or abort it first, then try again.",
            )
        known = account.load(opened)
        steps = [
            _step(opened, target, known, path, file, ended=path in ended)
            for path, file in _ordered(opened, snapshot)
        ]
        steps += [(path, file, None) for path, file in (remove or {}).items()]
        saved = _saves(opened, snapshot.files)
        files = {p: f for p, f in snapshot.files.items() if opened.repo.file(target.base, p) != f}
        if not files:
            _install_all(opened, steps)
            return None
        stamp = opened.stamp()
        sha = tip.write(opened, files, opened.render(snapshot.message), target, stamp)
        operation = Operation(
            action, target.ref, target.sha, sha, tuple(snapshot.files), tuple(ended), tuple(remove or ())
        )
        with _all_or_nothing(opened, operation, steps):
            _install_all(opened, steps)
            if not opened.repo.move(target.ref, target.sha, sha, stamp):
                raise RepositoryBusy(f"{target.ref} was moved meanwhile; nothing was changed", "Try again.")
        _remember_saves(opened, saved)
        _remember_views(opened, known, snapshot.files)
        return opened.repo.info(sha)


def carry_out(
    opened: Opened, commit_all: Callable[[], None], plan: Callable[[], Snapshot | None], *, action: str
) -> CommitInfo | None:
    """Commit what is on disk, plan a change from it, and apply it; all of it again when a writer came in between.

    Args:
        opened: The workspace.
        commit_all: Commits everything on disk, so that the state before can be had back.
        plan: The change to make of what is committed now; None when there is none to make any more.
        action: Name for the journal.

    Returns:
        The commit; None when nothing was to be done.

    Raises:
        RepositoryBusy: Writers came in between again and again; nothing was done.
    """
    for tries_left in reversed(range(_TRIES)):
        commit_all()
        snapshot = plan()
        if snapshot is None:
            return None
        try:
            return apply(opened, snapshot, action=action)
        except RepositoryBusy:
            if not tries_left:
                raise
            time.sleep(_PAUSE)
    raise AssertionError("unreachable")


@contextmanager
def _all_or_nothing(opened: Opened, operation: Operation, steps: list[_Step]) -> Iterator[None]:
    """Record an operation for the length of a block, and put every file back when anything goes wrong in it.

    When even that fails (a full disk), the record stays, and the next start finishes the operation.
    """
    record = journal.begin(opened.repo.git, operation)
    try:
        yield
    except BaseException:
        if _roll_back(opened, steps):
            journal.done(record)
        raise
    journal.done(record)


def _saves(opened: Opened, paths: Collection[TreePath]) -> dict[TreePath, float]:
    """When agents last saved the sessions among these files."""
    found = {
        path: opened.read(path).signature for path in paths if opened.classify(path) is PathClass.SESSION
    }
    git = opened.repo.git
    return {path: saves.saved_at(git, path, now) for path, now in found.items() if now is not None}


def _remember_saves(opened: Opened, saved: Mapping[TreePath, float]) -> None:
    """What we wrote is no sign of an agent."""
    for path, when in saved.items():
        signature = opened.read(path).signature
        if signature is not None:
            saves.note(opened.repo.git, path, when, signature)


def _remember_views(opened: Opened, known: Views, files: Mapping[TreePath, File | None]) -> None:
    """What a writer may still hold of files that were merged before."""
    now = opened.clock()
    fresh = {
        path: known[path].installing(account.entry_of(file), now).holding(account.entry_of(file))
        for path, file in files.items()
        if path in known
    }
    if fresh:
        views.save(opened.repo.git, {**known, **fresh})


def _ordered(opened: Opened, snapshot: Snapshot) -> list[tuple[TreePath, File | None]]:
    """Cursors last: a crash in between may repeat work, never skip it."""
    return sorted(
        snapshot.files.items(), key=lambda item: (opened.classify(item[0]) is PathClass.CURSOR, item[0])
    )


def _step(
    opened: Opened, target: Tip, known: Views, path: TreePath, new: File | None, *, ended: bool
) -> _Step:
    committed = account.on_disk(opened, known, path, opened.repo.file(target.base, path))
    disk = opened.read(path).file
    gone = disk is None or (committed is not None and not disk.data)
    if not gone and committed_form(opened, path, disk) != committed:
        raise RepositoryBusy(f"{path} changed meanwhile; nothing was changed", "Try again.")
    return path, disk, new if ended else live_form(opened, path, disk, new)


def committed_form(opened: Opened, path: TreePath, disk: File | None) -> File | None:
    """A file as it belongs in the tree: sessions without their machine-local fields."""
    if disk is None or opened.classify(path) is not PathClass.SESSION:
        return disk
    return replace(disk, data=checkpoint.strip(disk.data))


def live_form(opened: Opened, path: TreePath, disk: File | None, new: File | None) -> File | None:
    """A file as it belongs on disk: the session's machine-local fields put back, where it still has any."""
    if disk is None or new is None or opened.classify(path) is not PathClass.SESSION:
        return new
    return replace(new, data=checkpoint.overlay(new.data, disk.data))


def _install_all(opened: Opened, steps: list[_Step]) -> None:
    for step in steps:
        if not _install(opened, *step):
            raise RepositoryBusy(f"{step[0]} was written meanwhile; nothing was changed", "Try again.")


def _install(opened: Opened, path: TreePath, expected: File | None, new: File | None) -> bool:
    if expected == new:
        return True
    root, below = opened.workspace.layout.place(path)
    return files.install(root, below, expected, new).ok


def _roll_back(opened: Opened, steps: list[_Step]) -> bool:
    """Put back what was installed; whether all of it could be.

    A file that its writer changed since is left to it: the next capture commits that.
    """
    whole = True
    for path, expected, new in reversed(steps):
        try:
            _install(opened, path, new, expected)
        except OSError:  # the others all the same; the record stays, and the next start finishes
            whole = False
    return whole


def finish(opened: Opened, record: Path, operation: Operation) -> CommitInfo | None:
    """Finish an operation that a crash interrupted.

    Files that still are as before are installed; files that somebody wrote since are left to the next capture, so their text is
    kept on top. The ref moves if nobody moved it.

    Returns:
        The operation's commit, where it is on the branch now; None when the branch went elsewhere.
    """
    repo = opened.repo
    with opened.writing(), writers_locks(opened, operation.paths):
        for path in operation.paths:
            files.tidy(*opened.workspace.layout.place(path))
            old, new = repo.file(operation.old, path), repo.file(operation.new, path)
            disk = opened.read(path).file
            if committed_form(opened, path, disk) == old:
                live = new if path in operation.ended else live_form(opened, path, disk, new)
                _install(opened, path, disk, live)
        for path in operation.removed:
            files.tidy(*opened.workspace.layout.place(path))
            disk = opened.read(path).file
            if disk == inflight.newest(opened, path):
                _install(opened, path, disk, None)
        current = repo.refs.read(operation.ref)
        moved = current == operation.new or (
            current == operation.old
            and repo.move(operation.ref, operation.old, operation.new, opened.stamp())
        )
        journal.done(record)
    return repo.info(operation.new) if moved else None


@contextmanager
def writers_locks(opened: Opened, paths: Collection[TreePath]) -> Iterator[None]:
    """Hold the locks that the other writers of these files hold while they write.

    Raises:
        RepositoryBusy: The agent is writing.
        WorkspaceLocked: Another gitmem process is writing the history queue.
    """
    with ExitStack() as stack:
        if any(opened.classify(path) in _QUEUE for path in paths):
            stack.enter_context(history_lock(opened.workspace.directory).hold(_QUEUE_PATIENCE))
        stack.enter_context(_session_lock(opened, paths))
        yield


@contextmanager
def _session_lock(opened: Opened, paths: Collection[TreePath]) -> Iterator[None]:
    """Hold the agent's session lock while sessions are changed, where it has one."""
    lock = opened.workspace.layout.session_lock
    if (
        lock is None
        or not lock.parent.is_dir()
        or all(opened.classify(p) is not PathClass.SESSION for p in paths)
    ):
        yield
        return
    with session_files_lock(lock, _AGENT_PATIENCE):
        yield
