"""From paths that may have changed to commits: the one place where what is on disk becomes history.

The working tree is the truth and is never written here (invariant I1). A batch is read, judged, grouped by what happened, and
committed group by group with compare-and-swap on the branch (gitstore, section 3).
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitmem.core import describe, guard, history
from gitmem.core.classify import classify, first_commit, folded
from gitmem.core.guard import has_markers
from gitmem.core.model import Change, CommitInfo, File, Finding, PathClass, Snapshot, TreePath
from gitmem.edges import account, indexfile, inflight, tip, views
from gitmem.edges.batch import Batch, holds_run_state, noteworthy, read_batch
from gitmem.edges.files import Signature
from gitmem.edges.gitindex import Moved
from gitmem.edges.objects import blob_sha
from gitmem.edges.opened import IGNORE_FILE, Opened, missing_root
from gitmem.edges.tip import Tip
from gitmem.edges.trees import Entry
from gitmem.edges.views import Views
from gitmem.errors import RepositoryBusy

_DREAM_CURSOR = "memory/.dream_cursor"
_RACES = 10
"""How often a commit starts again because somebody else moved the branch meanwhile."""
_FRESH = 2.0
"""Seconds: a file written this recently may change again within its clock tick, so its signature proves nothing."""


@dataclass(frozen=True)
class Outcome:
    """What a capture did and what it left alone.

    Attributes:
        commits: Made now, oldest first, in-flight ones included.
        moved: What became of each committed path, for the index.
        waiting: Paths a writer is in the middle of.
        held: Paths whose removal is held back until `gitmem confirm`.
        settled: Paths looked at that are in history as they are on disk, or in neither.
        findings: What a person may want to know.
        operation: The person's git operation that makes commits go to the pending ref.
        missing: A root that is not there; nothing was captured.
    """

    commits: tuple[CommitInfo, ...] = ()
    moved: Mapping[TreePath, Moved] = field(default_factory=dict)
    waiting: frozenset[TreePath] = frozenset()
    held: tuple[TreePath, ...] = ()
    settled: frozenset[TreePath] = frozenset()
    findings: tuple[Finding, ...] = ()
    operation: str | None = None
    missing: str | None = None


class Capture:
    """Captures one open workspace; remembers what it has seen so that a scan reads only what changed."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._repo = opened.repo
        self._seen: dict[TreePath, Signature] = {}
        self._base: str | None = None
        self._files: dict[TreePath, Entry] = {}
        self._phases: dict[TreePath, list[File]] = {}
        self._in_flight: dict[TreePath, File] = {}
        self._conflicted: frozenset[TreePath] = frozenset()
        self._views: Views = {}
        self._views_stamp: int | None = None
        self._index = indexfile.stat(opened.repo.git)

    def scan(self) -> frozenset[TreePath]:
        """Every path that may differ from the last commit: stat against what was seen, no reading.

        Files seen too recently to trust their times count as dirty; so do tracked files that are gone.
        """
        self._opened.reload_patterns()
        target = tip.current(self._opened)
        self._sync(target)
        dirty: set[TreePath] = set() if target.pending is None else set(self._files)
        present: set[TreePath] = set()
        for path, signature in self._opened.walk():
            present.add(path)
            if self._seen.get(path) != signature and noteworthy(self._opened.classify(path)):
                dirty.add(path)
        return frozenset(dirty | (self._files.keys() - present))

    def moved_by_others(self) -> frozenset[TreePath]:
        """Paths to look at because a person's git did something: moved the branch, or settled a conflict."""
        target, known = tip.current(self._opened), self._files
        self._sync(target)
        paths = frozenset() if known is self._files else _different(known, self._files)
        index = indexfile.stat(self._repo.git)
        if self._conflicted and index != self._index:
            paths |= self._conflicted
        self._index = index
        return paths

    def peek(self, path: TreePath) -> None:
        """Remember a session's run state now, before the next phase of the turn overwrites it.

        An agent saves the phases of a turn milliseconds apart; only bytes read at once can bring back an earlier iteration after
        a crash (memory-format, section 2.6).
        """
        path_class = self._opened.classify(path)
        if path_class not in (PathClass.SESSION, PathClass.SIDECAR):
            return
        reading = self._opened.read(path)
        file = None if reading.unstable else reading.file
        if file is not None and holds_run_state(path_class, file):
            phases = self._phases.setdefault(path, [])
            if phases[-1:] != [file]:
                phases.append(file)

    def run(
        self, paths: Iterable[TreePath], *, overdue: Collection[TreePath] = (), allow_loss: bool = False
    ) -> Outcome:
        """Commit what really changed among `paths`.

        Args:
            paths: Candidates; a directory stands for everything below it.
            overdue: Paths that have waited long enough: taken as they are, flagged when torn.
            allow_loss: Commit a mass deletion too (`gitmem confirm`).

        Raises:
            RepositoryBusy: A lock of the repository is held, or others keep moving the branch.
            RepositoryRefused: The repository is damaged.
        """
        missing = missing_root(self._opened.workspace)
        if missing is not None:
            return Outcome(missing=str(missing))
        made: list[CommitInfo] = []
        with self._opened.writing():
            self._repo.recheck()
            for _ in range(_RACES):
                outcome = self._attempt(frozenset(paths), frozenset(overdue), made, allow_loss=allow_loss)
                if outcome is not None:
                    return outcome
        raise RepositoryBusy("the branch kept moving while we committed", "Try again: gitmem notify")

    def _attempt(
        self,
        paths: frozenset[TreePath],
        overdue: frozenset[TreePath],
        made: list[CommitInfo],
        *,
        allow_loss: bool,
    ) -> Outcome | None:
        """One try; None when somebody moved the branch. Commits go to `made`, whatever comes after them."""
        target = tip.current(self._opened)
        self._sync(target)
        looked = self._expand(paths, target)
        batch = read_batch(self._opened, self._files, looked, overdue)
        self._leave_conflicts(batch, target)
        held = () if allow_loss else self._hold_back(batch)
        known = self._on_branch(batch, target)
        made += self._commit_run_state(batch)
        for snapshot in self._snapshots(batch, target):
            commit = tip.commit(self._opened, snapshot, target)
            if commit is None:
                return None
            made.append(commit)
            target = replace(target, sha=commit.sha, base=commit.sha, pending=None)
        moved = self._remember(batch, target)
        self._account(known)
        return Outcome(
            commits=tuple(made),
            moved={} if target.operation else moved,
            waiting=frozenset(batch.waiting),
            held=held,
            settled=looked - batch.waiting - set(held),
            findings=tuple(batch.findings),
            operation=target.operation,
        )

    def _sync(self, target: Tip) -> None:
        """Learn the tree the next commit starts from, when it is not the one we made."""
        stamp = views.stamp(self._repo.git)
        if target.base != self._base or not self._files or stamp != self._views_stamp:
            self._views, self._views_stamp = account.load(self._opened), stamp
            fresh = views.overlay(self._repo.files(target.base), self._views)
            for path in _different(self._files, fresh):
                self._seen.pop(path, None)
            self._files, self._base = fresh, target.base

    def _expand(self, paths: frozenset[TreePath], target: Tip) -> frozenset[TreePath]:
        """Directories become what is and what was below them."""
        if IGNORE_FILE in paths:
            self._opened.reload_patterns()
        layout = self._opened.workspace.layout
        folders = tuple(
            f"{path}/" if path else ""
            for path in paths
            if path not in self._files and layout.disk(path).is_dir()
        )
        gone = tuple(f"{path}/" for path in paths if path not in self._files)
        below = {path for path in self._files if path.startswith(gone)} if gone else set()
        if folders:
            below |= {path for path, _ in self._opened.walk() if path.startswith(folders)}
        if target.pending is not None:
            below |= self._pending_paths(target)
        return paths | below

    def _pending_paths(self, target: Tip) -> set[TreePath]:
        return self._repo.files(target.pending).keys() | self._files.keys()

    def _leave_conflicts(self, batch: Batch, target: Tip) -> None:
        """Take out what a person's merge or stash left in conflict: its markers never get into history (B55)."""
        marked = {path for path, change in batch.changes.items() if _gained_markers(change)}
        left: set[TreePath] = set()
        if marked or target.operation is not None:
            unmerged = tip.unmerged(self._opened)
            left = batch.changes.keys() & (unmerged | marked if target.operation else unmerged & marked)
        for path in left:
            del batch.changes[path]
            batch.signatures.pop(path, None)
        seen = batch.signatures.keys() | batch.changes.keys()
        self._conflicted = (self._conflicted - seen) | left

    def _hold_back(self, batch: Batch) -> tuple[TreePath, ...]:
        """Take a mass deletion out of the batch: an unmounted or emptied folder is a state, not a change (gitstore, 3.6)."""
        lost = {path for path, change in batch.changes.items() if change.new is None or _emptied(change)}
        if not lost:
            return ()
        disk = self._opened.workspace.layout.disk
        gone = lost | {path for path in self._files if not os.path.lexists(disk(path))}
        tracked = {path: self._opened.classify(path) for path in self._files}
        kept = {path: kind for path, kind in tracked.items() if kind.versioned}  # not records of conflicts
        if not guard.mass_loss(kept, gone):
            return ()
        for path in lost:
            del batch.changes[path]
        return tuple(sorted(lost))

    def _on_branch(self, batch: Batch, target: Tip) -> Views | None:
        """Turn edits of files that were merged into edits of the branch; gives the record of views, where it changes."""
        if not self._views or not batch.changes.keys() & self._views.keys():
            return None
        rebased = account.rebase(self._opened, target.base, self._views, batch.changes)
        batch.changes.clear()
        batch.changes.update(rebased.changes)
        return rebased.views

    def _account(self, known: Views | None) -> None:
        """Write down what is on disk, where that is not what is on the branch."""
        if known is None:
            return
        views.save(self._repo.git, known)
        self._views, self._views_stamp = known, views.stamp(self._repo.git)
        self._files = views.overlay(self._files, known)

    def _commit_run_state(self, batch: Batch) -> list[CommitInfo]:
        """Commit the phases seen since the last batch, then the state on disk, on the in-flight ref."""
        versions: dict[TreePath, list[File]] = {path: list(files) for path, files in self._phases.items()}
        for path, file in batch.run_state.items():
            if versions.setdefault(path, [])[-1:] != [file]:
                versions[path].append(file)
        messages = {
            path: [describe.phase(path, file.data) for file in files] for path, files in versions.items()
        }
        made = inflight.record(self._opened, versions, messages)
        self._phases.clear()
        for path in batch.signatures.keys() - batch.run_state.keys():
            self._in_flight.pop(path, None)
        self._in_flight |= batch.run_state
        return made

    def _snapshots(self, batch: Batch, target: Tip) -> list[Snapshot]:
        changes = list(batch.changes.values())
        agent = self._opened.workspace.layout.agent
        if target.base is None:
            return [first_commit(changes, agent=agent, path_class=self._opened.classify)] if changes else []
        if target.pending is not None:
            return [folded(changes, target.pending)]
        snapshots = classify(
            changes, self._opened.classify, in_flight=self._in_flight, dreamed=self._dreamed(batch)
        )
        return [_flag_torn(snapshot, batch.torn) for snapshot in snapshots]

    def _dreamed(self, batch: Batch) -> int | None:
        """The committed Dream cursor, where a change of the history makes it matter."""
        entry = self._files.get(_DREAM_CURSOR)
        if entry is None or not any(self._opened.classify(p) is PathClass.HISTORY for p in batch.changes):
            return None
        return history.parse_cursor(self._repo.read(entry).data)

    def _remember(self, batch: Batch, target: Tip) -> dict[TreePath, Moved]:
        """Update what is known of the tree and the disk; tells what moved."""
        moved: dict[TreePath, Moved] = {}
        for path, change in batch.changes.items():
            old = self._files.pop(path, None)
            new = None if change.new is None else Entry(change.new.mode, blob_sha(change.new.data))
            if new is not None:
                self._files[path] = new
            moved[path] = Moved(old, new)
        self._base = target.base
        horizon = (self._opened.clock() - _FRESH) * 1e9
        for path, signature in batch.signatures.items():
            if signature.mtime_ns < horizon:
                self._seen[path] = signature
        return moved


def _gained_markers(change: Change) -> bool:
    new, old = (b"" if file is None else file.data for file in (change.new, change.old))
    return has_markers(new) and not has_markers(old)


def _different(old: Mapping[TreePath, Entry], new: Mapping[TreePath, Entry]) -> frozenset[TreePath]:
    """Paths whose file is not the same in two trees."""
    return frozenset(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def _emptied(change: Change) -> bool:
    return change.old is not None and bool(change.old.data) and change.new is not None and not change.new.data


def _flag_torn(snapshot: Snapshot, torn: Collection[TreePath]) -> Snapshot:
    """Say in the commit which of its files were taken in the middle of a write (gitstore, 3.3)."""
    flags = tuple(("Gitmem-Torn", path) for path in sorted(snapshot.files) if path in torn)
    message = replace(snapshot.message, trailers=snapshot.message.trailers + flags)
    return replace(snapshot, message=message) if flags else snapshot
