"""People who use plain git in the folder that gitmem keeps, as the cases about sharing a repository need them."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gitmem.actions import begin
from gitmem.actions.capture import Capture, Outcome
from gitmem.edges import workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.edges.workspace import Workspace

_WHO = {
    "GIT_AUTHOR_NAME": "person",
    "GIT_AUTHOR_EMAIL": "person@example.invalid",
    "GIT_COMMITTER_NAME": "person",
    "GIT_COMMITTER_EMAIL": "person@example.invalid",
    "GIT_EDITOR": "true",
}


def attempt(where: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run git as a person would; it may fail."""
    command = ["git", "-c", "init.defaultBranch=main", "-c", "advice.detachedHead=false", *words]
    return subprocess.run(
        command,
        cwd=where,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **_WHO},
        check=False,
    )


def git(where: Path, *words: str) -> str:
    """Run git and give back what it printed; it must succeed."""
    done = attempt(where, *words)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8", "surrogateescape")


def commit_beside(where: Path, *words: str, lost: int = 3) -> int:
    """Commit while somebody else commits too; returns how often HEAD moved in the instant between git's look and its lock.

    Between two persons that instant is there as well, and git's answer is to try again. It must be rare.
    """
    for races in range(lost + 1):
        done = attempt(where, "commit", *words)
        if b"cannot lock ref 'HEAD'" not in done.stderr:
            assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
            return races
    raise AssertionError(f"HEAD moved {lost} times in a row")


def lay(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, their folders first."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def repository(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A person's repository with one commit of these files."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q")
    lay(root, files)
    commit_all(root, "base")
    return root


def commit_all(root: Path, text: str) -> None:
    """Everything in the folder, committed by the person."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--no-verify", "--no-gpg-sign", "-m", text)


def keep(root: Path, *, adopt: bool = True) -> Workspace:
    """Make the folder a workspace; by default with the person's own repository."""
    return begin.begin(begin.plan(root, None, None, adopt=adopt, separate=False))


@contextmanager
def kept(root: Path) -> Iterator[Opened]:
    """The workspace, open."""
    with open_workspace(workspace.find(root)) as opened:
        yield opened


def capture(opened: Opened) -> Outcome:
    """Commit what is on disk, as a daemon does at its start."""
    kept_files = Capture(opened)
    paths = kept_files.scan()
    return kept_files.run(paths, overdue=paths)


def touched(root: Path, commit: str = "HEAD") -> list[str]:
    """The paths that a commit changed."""
    return git(root, "show", "-m", "--first-parent", "--format=", "--name-only", commit).split()


def committed(root: Path, path: str, commit: str = "HEAD") -> bytes | None:
    """A file's bytes in a commit; None where it has none."""
    done = attempt(root, "cat-file", "blob", f"{commit}:{path}")
    return done.stdout if done.returncode == 0 else None


def head(root: Path) -> str:
    """The commit that is checked out."""
    return git(root, "rev-parse", "HEAD").strip()


def every_byte(root: Path) -> dict[str, bytes]:
    """All files below a folder, with their bytes."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def blobs(root: Path, *starts: str) -> list[bytes]:
    """The bytes of every blob that these commits reach; by default that any ref but a stash does."""
    given = starts or ("--exclude=refs/stash", "--all")
    names = git(root, "rev-list", *given, "--objects", "--filter=object:type=blob").splitlines()
    found = (attempt(root, "cat-file", "blob", line.split()[0]) for line in names)
    return [done.stdout for done in found if done.returncode == 0]
