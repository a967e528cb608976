"""Checks of everything that can silently rot, each with its cure; the safe cures can be carried out."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitmem.edges import control, gitdir, gitindex, journal, process, remotes
from gitmem.edges.opened import Opened, missing_root
from gitmem.errors import GitmemError

_STALE = 600.0
"""Seconds after which a lock file whose holder is gone counts as left behind; git holds one for milliseconds."""
_SAMPLE = 50
"""Newest commits whose trees and changed files are read."""
_LITTLE = 500 * 1024 * 1024
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        ok: Whether it is well.
        text: What was found.
        cure: What to do about it; None when it is well.
        mend: Carries out the cure; None where a person must.
    """

    name: str
    ok: bool
    text: str
    cure: str | None = None
    mend: Callable[[], object] | None = None


def examine(opened: Opened) -> Iterator[Check]:
    """Look at everything, cheapest first. Nothing is changed."""
    yield _roots(opened)
    yield _daemon(opened)
    yield from _locks(opened)
    yield _journal(opened)
    yield _history(opened)
    yield _index(opened)
    yield _modes(opened)
    yield _space(opened)
    yield _watches()
    yield _remotes(opened)


def _roots(opened: Opened) -> Check:
    missing = missing_root(opened.workspace)
    if missing is None:
        return Check("folders", ok=True, text="all there")
    return Check("folders", ok=False, text=f"{missing} is missing", cure="Mount it or put it back.")


def _daemon(opened: Opened) -> Check:
    live = control.ask(opened.repo.git.state, {"do": "status"})
    if live is None:
        return Check("daemon", ok=False, text="not running", cure="gitmem start")
    if live.get("problem"):
        return Check("daemon", ok=False, text=str(live["problem"]["text"]), cure=live["problem"].get("hint"))
    mode = live.get("watcher", {}).get("mode")
    return Check("daemon", ok=True, text=f"{live.get('state')}, pid {live.get('pid')}, {mode}")


def _locks(opened: Opened) -> Iterator[Check]:
    git = opened.repo.git
    candidates = [git.control / "index.lock", git.control / "HEAD.lock", git.common / "packed-refs.lock"]
    candidates += sorted((git.common / "refs").rglob("*.lock"))
    found = [path for path in candidates if path.exists()]
    for path in found:
        age = time.time() - path.stat().st_mtime
        if age < _STALE:
            yield Check(
                "lock", ok=False, text=f"{path} is {age:.0f} s old", cure="Wait: somebody may be using git."
            )
        elif process.has_open(path):
            yield Check(
                "lock",
                ok=False,
                text=f"{path} is held by a running program",
                cure="Let it finish, or end it.",
            )
        else:
            cure = f"gitmem doctor --fix, or: rm {path}"
            yield Check(
                "lock",
                ok=False,
                text=f"{path} was left behind {age / 60:.0f} min ago",
                cure=cure,
                mend=path.unlink,
            )
    if not found:
        yield Check("locks", ok=True, text="none")


def _journal(opened: Opened) -> Check:
    left = journal.unfinished(opened.repo.git)
    if not left:
        return Check("operations", ok=True, text="none unfinished")
    return Check("operations", ok=False, text=f"{len(left)} unfinished", cure="gitmem start finishes them")


def _history(opened: Opened) -> Check:
    """Read the newest commits, their trees and the files they changed."""
    repo = opened.repo
    count = 0
    try:
        gitdir.check_format(repo.git)
        for commit in repo.history(repo.head()):
            for change in repo.changes(commit.sha):
                if change.new is not None:
                    repo.read(change.new)
            count += 1
            if count >= _SAMPLE:
                break
        repo.files(repo.head())
    except GitmemError as error:
        return Check("history", ok=False, text=str(error), cure=error.hint)
    return Check("history", ok=True, text=f"the newest {count} commits are readable")


def _index(opened: Opened) -> Check:
    if opened.workspace.adopted:
        return Check("index", ok=True, text="shared with its owner, left alone")
    behind = gitindex.behind(opened.repo, opened.repo.head())
    if not behind:
        return Check("index", ok=True, text="as the branch")
    outside = frozenset(opened.workspace.layout.mapped)

    def mend() -> bool:
        return gitindex.refresh(opened.repo, behind, outside)

    return Check(
        "index", ok=False, text=f"{len(behind)} entries are behind", cure="gitmem doctor --fix", mend=mend
    )


def _modes(opened: Opened) -> Check:
    """Our own folders hold the whole memory: nobody else may read them (B93)."""
    git = opened.repo.git
    places = [git.state] if opened.workspace.adopted else [git.control, git.state]
    wide = [path for path in places if path.stat().st_mode & 0o077]
    if not wide:
        return Check("modes", ok=True, text="private")

    def mend() -> None:
        for path in wide:
            path.chmod(0o700)

    names = ", ".join(str(path) for path in wide)
    return Check("modes", ok=False, text=f"others may read {names}", cure="gitmem doctor --fix", mend=mend)


def _space(opened: Opened) -> Check:
    free = shutil.disk_usage(opened.repo.git.control).free
    text = f"{free / 1024**3:.1f} GiB free"
    return Check(
        "disk", ok=free > _LITTLE, text=text, cure=None if free > _LITTLE else "Make room on the disk."
    )


def _watches() -> Check:
    if not _WATCHES.is_file():
        return Check("watches", ok=True, text="no inotify here")
    limit = int(_WATCHES.read_text("ascii"))
    cure = None if limit >= 8192 else "sudo sysctl fs.inotify.max_user_watches=524288"
    return Check("watches", ok=cure is None, text=f"inotify allows {limit} folders", cure=cure)


def _remotes(opened: Opened) -> Check:
    try:
        found = remotes.load(opened.repo.git.control)
    except GitmemError as error:
        return Check("remotes", ok=False, text=str(error), cure=error.hint)
    if not found:
        return Check(
            "remotes",
            ok=False,
            text="none: the memory lives on this disk only",
            cure="gitmem remote add NAME URL",
        )
    branch, head = opened.repo.branch(), opened.repo.head()
    behind = [
        remote.name
        for remote in found
        if branch is None or opened.repo.refs.read(remote.tracking(branch) or "") != head
    ]
    if behind:
        return Check("remotes", ok=False, text=f"{', '.join(behind)} lacks commits", cure="gitmem push")
    return Check(
        "remotes", ok=True, text=f"{', '.join(r.name for r in found)} had everything at the last push"
    )
