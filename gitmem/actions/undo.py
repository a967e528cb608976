"""Going back: the inverse of a commit alone, or files as they were (gitstore, section 6).

Both only plan: they compute a snapshot from what is committed. Applying it is a transaction; showing it is a dry run.
"""

from collections.abc import Sequence

from gitmem.core.merge.inverse import inverse
from gitmem.core.message import shortened
from gitmem.core.model import CommitInfo, File, Kind, Message, PathClass, Snapshot, TreePath
from gitmem.edges import plan, tip
from gitmem.edges.opened import Opened
from gitmem.edges.plan import Plan, apply, check_in_use
from gitmem.errors import Conflict, NotFound, UsageError

__all__ = ["Plan", "apply", "check_in_use", "plan_restore", "plan_revert"]

_CURSOR_UNIT = ("memory/history.jsonl", "memory/.cursor", "memory/.dream_cursor")
"""Three files that are merged as one (merge.md, section 2.2)."""


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
    return plan.of(opened, head, Snapshot(message, files))


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
        if repo.file(head, name) != file or plan.is_lost(opened, name, file)
    }
    names = shortened(", ".join(path or "." for path in paths), 60)
    body = (f"As it was at {at.sha[:8]}: {at.subject}",)
    message = Message(
        Kind.RESTORE, f"restore({names}): as of {at.sha[:8]}", body, (("Gitmem-Restored-From", at.sha),)
    )
    return plan.of(opened, head, Snapshot(message, files))


def _is_below(name: TreePath, path: TreePath) -> bool:
    return not path or name == path or name.startswith(path.rstrip("/") + "/")


def _changed(
    opened: Opened, head: str | None, wanted: dict[TreePath, File | None]
) -> dict[TreePath, File | None]:
    return {path: file for path, file in wanted.items() if opened.repo.file(head, path) != file}
