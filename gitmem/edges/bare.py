"""Bare repositories on this machine, as the target of a push to a path."""

import os
import shutil
import stat
from pathlib import Path

from dulwich.config import ConfigFile

from gitmem.edges import durable, gitdir, syscalls
from gitmem.edges.gitdir import GitDir
from gitmem.edges.refs import Refs
from gitmem.errors import RemoteError, RepositoryRefused, UsageError

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

_CLOCK_STEP = 2.0
"""Seconds by which the times of files may be off: some file systems count in steps of two."""


def create(path: Path) -> Path:
    """Make an empty bare repository that only its owner can read.

    It is built beside its place and renamed, so a crash leaves a whole one or none.

    Args:
        path: Where; it may exist as an empty directory.

    Returns:
        The path, absolute.

    Raises:
        UsageError: Something is there already.
    """
    target = path.absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            f"{target} exists already", "Leave out --create to use the repository that is there."
        )
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    building = target.with_name(f".{target.name}.new-{os.getpid()}")
    shutil.rmtree(building, ignore_errors=True)
    for folder in ("", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"):
        (building / folder).mkdir(mode=0o700)
    texts = {
        "HEAD": f"ref: refs/heads/{gitdir.DEFAULT_BRANCH}\n",
        "config": _CONFIG,
        "description": "A backup of an agent's memory, made by gitmem\n",
    }
    for name, text in texts.items():
        durable.replace(building / name, text.encode(), 0o600)
    building.rename(target)
    return target


def check(path: Path) -> None:
    """See that a push to this path is safe: there is a bare repository, of a format we know.

    A push to a repository with files checked out would move the branch under them, and the next commit
    there would undo what was pushed.

    Raises:
        RemoteError: With state `missing` or `refused`.
    """
    if not (path / "HEAD").is_file() or not (path / "objects").is_dir():
        if (path / ".git").exists():
            raise _checked_out(path)
        raise RemoteError(
            "missing",
            f"there is no bare git repository at {path}",
            "Make one with: gitmem remote add NAME PATH --create",
        )
    try:
        gitdir.check_format(GitDir(path, path))
        config = ConfigFile.from_path(str(path / "config"), expand_includes=False)
        bare = config.get_boolean((b"core",), b"bare", False)
    except (RepositoryRefused, OSError, ValueError) as error:
        raise RemoteError("refused", f"the repository at {path} cannot be used: {error}") from error
    if not bare:
        raise _checked_out(path)


def check_absent(path: Path, ref: str) -> None:
    """See that a ref which was not advertised is not there: dulwich says nothing of one whose commit is lost.

    Raises:
        RemoteError: It is there, so the repository is damaged, not empty.
    """
    try:
        sha = Refs(GitDir(path, path)).read(ref)
    except RepositoryRefused as error:
        raise RemoteError("protocol", f"the repository at {path} is damaged: {error}") from error
    if sha is not None:
        raise RemoteError(
            "protocol",
            f"the repository at {path} is damaged: {ref} is at {sha}, which is not there",
            "Repair it (git fsck), or make another one: gitmem remote add NAME PATH --create",
        )


def flush(path: Path, since: float) -> None:
    """Bring what was pushed onto the disk: until then it is no backup. Nobody can read more of it than of its folder (B93).

    Args:
        path: The bare repository.
        since: Unix seconds; older files are on the disk already.
    """
    packs, refs = path / "objects" / "pack", path / "refs"
    folders, readers = {packs}, packs.stat().st_mode
    for file in (*packs.iterdir(), *refs.rglob("*")):
        if file.is_file() and file.stat().st_mtime >= since - _CLOCK_STEP:
            folders.add(file.parent)
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                # dulwich opens packs to everybody, whatever the umask is
                os.fchmod(descriptor, stat.S_IMODE(file.stat().st_mode) & readers)
                syscalls.fsync(descriptor, file)
            finally:
                os.close(descriptor)
    for folder in sorted(folders):
        syscalls.fsync_dir(folder)


def _checked_out(path: Path) -> RemoteError:
    return RemoteError(
        "refused",
        f"the repository at {path} has files checked out; a push would move its branch under them",
        "Push to a bare repository: gitmem remote add NAME PATH --create",
    )


def is_inside(path: Path, directory: Path) -> bool:
    """Whether `path` is `directory` or lies below it, symbolic links followed on both sides."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory))
