"""Going back: the inverse of a commit alone, or files as they were (gitstore, section 6).

Both only plan: they compute a snapshot from what is committed. Applying it is a transaction; showing it is a dry run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gitmem.core.checkpoint import is_mid_turn
from gitmem.core.merge.inverse import inverse
from gitmem.core.message import shortened
from gitmem.core.model import Change, CommitInfo, File, Kind, Message, PathClass, Snapshot, TreePath
from gitmem.core.session_names import sidecar_of
from gitmem.edges import process, saves, tip, transaction
from gitmem.edges.opened import Opened
from gitmem.errors import Conflict, NotFound, SessionInUse, UsageError

_CURSOR_UNIT = ("memory/history.jsonl", "memory/.cursor", "memory/.dream_cursor")
"""Three files that are merged as one (merge.md, section 2.2)."""


@dataclass(frozen=True)
class Plan:
    """A change that could be made.

    Attributes:
        snapshot: What to commit and install; its files are only those that would change.
        changes: The same as before and after, for a diff.
    """

    snapshot: Snapshot
    changes: tuple[Change, ...]


def plan_revert(opened: Opened, commits: Sequence[CommitInfo]) -> Plan:
    """The inverse of commits, each alone, later edits kept.

    Args:
        opened: The workspace; everything on disk is committed.
        commits: What to take back; the newest first is undone first whatever their order here.

    Raises:
        Conflict: Something cannot be undone cleanly; nothing is planned, the conflicting texts are attached.
        UsageError: A merge or the first commit.
    """
    head = tip.current(opened).base
    now: dict[TreePath, File | None] = {}
    for commit in _newest_first(opened, commits, head):
        now |= _inverse_of(opened, commit, now, head)
    names = " ".join(f"{commit.kind} {commit.sha[:8]}" for commit in commits)
    files = _changed(opened, head, now)
    body = (
        *(f"Takes back: {commit.subject}" for commit in commits),
        "Later changes are kept; cursors do not go back.",
    )
    trailers = tuple(("Gitmem-Reverts", commit.sha) for commit in commits)
    scope = f" ({', '.join(sorted(files))})" if 0 < len(files) <= 3 else f" ({len(files)} files)"
    message = Message(Kind.REVERT, f"revert: undo {names}{scope}", body, trailers)
    return _plan(opened, head, Snapshot(message, files))


def _newest_first(opened: Opened, commits: Sequence[CommitInfo], head: str | None) -> list[CommitInfo]:
    """Commits in the order of the branch; times are too coarse to tell. Those that are not on it come last."""
    if len(commits) == 1:
        return list(commits)
    wanted = {commit.sha: commit for commit in commits}
    found = [wanted.pop(info.sha) for info in opened.repo.history(head) if info.sha in wanted]
    return [*found, *wanted.values()]


def _inverse_of(
    opened: Opened, commit: CommitInfo, now: dict[TreePath, File | None], head: str | None
) -> dict[TreePath, File | None]:
    if len(commit.parents) != 1:
        what = "a merge" if commit.parents else "the first commit"
        raise UsageError(f"{commit.sha[:8]} is {what}: there is no single change to take back")
    repo, parent = opened.repo, commit.parents[0]
    paths = {change.path for change in repo.changes(commit.sha)}
    if paths & set(_CURSOR_UNIT):
        paths |= set(_CURSOR_UNIT)
    current = {path: now[path] if path in now else repo.file(head, path) for path in paths}
    merged = inverse(
        opened.classify,
        before=_present({path: repo.file(parent, path) for path in paths}),
        commit=_present({path: repo.file(commit.sha, path) for path in paths}),
        now=_present(current),
    )
    if merged.conflicts:
        raise Conflict(
            f"{commit.sha[:8]} ({commit.subject}) cannot be taken back cleanly: later changes touch the same texts",
            [str(conflict) for conflict in merged.conflicts],
            "Nothing was changed. Revert the later commits first, or: gitmem restore PATH --at WHEN",
        )
    return dict(merged.files)


def _present(files: dict[TreePath, File | None]) -> dict[TreePath, File]:
    return {path: file for path, file in files.items() if file is not None}


def plan_restore(opened: Opened, paths: Sequence[TreePath], at: CommitInfo, *, exact: bool = False) -> Plan:
    """Files as they were at a commit. Cursors stay where the branch has them: numbers are never used twice.

    Args:
        opened: The workspace; everything on disk is committed.
        paths: Files or folders; the empty string is the whole workspace.
        at: The commit to take them from.
        exact: Also remove files of a folder that did not exist then.

    Raises:
        NotFound: A path did not exist then.
    """
    repo = opened.repo
    head = tip.current(opened).base
    then, now = repo.files(at.sha), repo.files(head)
    wanted: dict[TreePath, File | None] = {}
    for path in paths:
        below = tuple(name for name in then if _is_below(name, path))
        if not below:
            raise NotFound(f"{path} did not exist at {at.sha[:8]}", f"See where it did: gitmem log -- {path}")
        wanted |= {name: repo.read(then[name]) for name in below}
        if exact:
            wanted |= {name: None for name in now if _is_below(name, path) and name not in then}
    for name in [name for name in wanted if opened.classify(name) is PathClass.CURSOR]:
        wanted[name] = repo.read(now[name]) if name in now else wanted[name]
    files = {
        name: file
        for name, file in wanted.items()
        if repo.file(head, name) != file or _lost(opened, name, file)
    }
    names = shortened(", ".join(path or "." for path in paths), 60)
    body = (f"As it was at {at.sha[:8]}: {at.subject}",)
    message = Message(
        Kind.RESTORE, f"restore({names}): as of {at.sha[:8]}", body, (("Gitmem-Restored-From", at.sha),)
    )
    return _plan(opened, head, Snapshot(message, files))


def _lost(opened: Opened, path: TreePath, wanted: File | None) -> bool:
    """Whether a file is gone or emptied on disk although the branch still has it: a deletion that is held back."""
    disk = opened.read(path).file
    return wanted is not None and bool(wanted.data) and (disk is None or not disk.data)


def _is_below(name: TreePath, path: TreePath) -> bool:
    return not path or name == path or name.startswith(path.rstrip("/") + "/")


def _changed(
    opened: Opened, head: str | None, wanted: dict[TreePath, File | None]
) -> dict[TreePath, File | None]:
    return {path: file for path, file in wanted.items() if opened.repo.file(head, path) != file}


def _plan(opened: Opened, head: str | None, snapshot: Snapshot) -> Plan:
    changes: list[Change] = []
    for path, file in sorted(snapshot.files.items()):
        old = opened.read(path).file if _lost(opened, path, file) else opened.repo.file(head, path)
        changes.append(Change(path, old, file))
    return Plan(snapshot, tuple(changes))


def check_in_use(opened: Opened, paths: Collection[TreePath]) -> None:
    """Refuse to change sessions that an agent probably holds in memory: it would write its own version over ours.

    Raises:
        SessionInUse: Names the session and why.
    """
    running = process.running((*opened.workspace.layout.processes, *opened.settings.agent_process))
    for path in sorted(paths):
        if opened.classify(path) is not PathClass.SESSION:
            continue
        reading = opened.read(path)
        if reading.file is None or reading.signature is None:
            continue
        age = opened.clock() - saves.saved_at(opened.repo.git, path, reading.signature)
        hint = "Stop the agent first, or say --force."
        if is_mid_turn(reading.file.data) or opened.read(sidecar_of(path)).file is not None:
            raise SessionInUse(f"{path} is in the middle of a turn", hint)
        if running or (running is None and age < opened.settings.session_hot):
            raise SessionInUse(
                f"{path} may be held in memory by the agent (last saved {age:.0f} s ago)", hint
            )


def apply(opened: Opened, plan: Plan, *, force: bool = False) -> CommitInfo | None:
    """Carry out a plan: one commit, on disk and in history together.

    Returns:
        The commit; None when only the disk was behind and history has it all already.

    Raises:
        SessionInUse: An agent probably holds one of the sessions, and `force` is not set.
        RepositoryBusy: Something changed since the plan was made.
    """
    if not force:
        check_in_use(opened, plan.snapshot.files.keys())
    return transaction.apply(opened, plan.snapshot, action=plan.snapshot.message.kind)
