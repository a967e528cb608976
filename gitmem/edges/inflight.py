"""Run state of interrupted or running turns, kept whole on `refs/gitmem/inflight/<host>`.

The ref's tree holds the sessions (and checkpoint sidecars) that have run state, exactly as they are on disk. It belongs to this
host alone: pushed as a backup, never merged (gitstore, section 2). Its history is what lets a replay bring back iterations that
the agent's own checkpoint has forgotten.
"""

from collections.abc import Mapping, Sequence

from gitmem.core.model import CommitInfo, File, Message, TreePath
from gitmem.edges.opened import Opened
from gitmem.errors import RepositoryBusy

_LOOK_BACK = 2000
"""Commits of the in-flight ref looked at for one turn; a turn has a few per tool call."""


def record(
    opened: Opened,
    versions: Mapping[TreePath, Sequence[File]],
    messages: Mapping[TreePath, Sequence[Message]],
) -> list[CommitInfo]:
    """Commit each version of each path that is not the newest one already, oldest first.

    Args:
        opened: The workspace.
        versions: The states of a path in the order they were seen.
        messages: The commit message of each version.

    Raises:
        RepositoryBusy: Another process keeps moving the ref.
    """
    repo, ref, stamp = opened.repo, opened.inflight_ref, opened.stamp()
    made: list[CommitInfo] = []
    tip = repo.refs.read(ref)
    for path in sorted(versions):
        for file, message in zip(versions[path], messages[path], strict=True):
            if repo.file(tip, path) == file:
                continue
            sha = repo.write(() if tip is None else (tip,), {path: file}, opened.render(message), stamp)
            if not repo.move(ref, tip, sha, stamp):
                raise RepositoryBusy(f"{ref} was moved by another process", "Try again: gitmem notify")
            tip = sha
            made.append(repo.info(sha))
    return made


def newest(opened: Opened, path: TreePath) -> File | None:
    """The newest run state kept for a path."""
    return opened.repo.file(opened.repo.refs.read(opened.inflight_ref), path)


def earlier(opened: Opened, path: TreePath) -> list[File]:
    """All states of a path kept in flight, oldest first, as far back as one turn can reach."""
    repo = opened.repo
    found: list[File] = []
    last: str | None = None
    for number, commit in enumerate(repo.history(repo.refs.read(opened.inflight_ref))):
        entry = repo.entry(commit.sha, path)
        if number >= _LOOK_BACK or entry is None:
            break
        if entry.sha != last:
            found.append(repo.read(entry))
            last = entry.sha
    return found[::-1]
