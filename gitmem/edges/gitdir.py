"""A git directory as files: creating one, refusing the unknown ones, seeing what a person is in the middle of.

The repository's configuration is data to us: it is parsed for the few keys that decide whether we may write, includes are not
followed, and nothing it names is ever run (gitstore, section 1, co-tenant rules).
"""

import math
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from dulwich.config import ConfigFile

from gitmem.edges import durable, process, syscalls
from gitmem.errors import RepositoryRefused

DEFAULT_BRANCH = "main"

_KNOWN_EXTENSIONS = frozenset({"worktreeconfig", "relativeworktrees", "noop", "partialclone"})
_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
    "sequencer": "cherry-pick or revert",
}
"""Marks of an unfinished operation. REBASE_HEAD and ORIG_HEAD stay behind after finished ones and mean nothing."""

_INDEX_PATIENCE = 3.0
_TOUCHED = {"index.lock": 10.0, "index": 0.25, "COMMIT_EDITMSG": 0.25}
"""Files of a person's git command, and the seconds for which each tells that one may be running. An older lock is a long
operation's or was left behind; our own update of the index keeps its time."""

_GC_PATIENCE = 10.0
"""Seconds to wait for somebody's `git gc`."""

_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"
"""Blobs are exact bytes: whatever core.autocrlf or a .gitattributes says, git must agree that files are unchanged."""


@dataclass(frozen=True)
class GitDir:
    """Where the parts of a repository are.

    Attributes:
        control: HEAD, index and operation marks (`.git`, or a linked worktree's folder).
        common: objects, refs and config, shared by linked worktrees.
    """

    control: Path
    common: Path

    @property
    def state(self) -> Path:
        """Our own folder: locks, journal, records. Local to this machine and never tracked."""
        return self.control / "gitmem"


def resolve(dot_git: Path) -> GitDir:
    """Follow a `.git` file (linked worktree, separate git dir) to the real directories.

    Raises:
        RepositoryRefused: Not a repository, or its `.git` file points nowhere.
    """
    control = dot_git
    if dot_git.is_file():
        text = dot_git.read_text("utf-8", "replace").strip()
        if not text.startswith("gitdir:"):
            raise RepositoryRefused(f"{dot_git} is neither a repository nor a pointer to one")
        control = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    common = control
    if (control / "commondir").is_file():
        common = (control / (control / "commondir").read_text("utf-8", "replace").strip()).resolve()
    if not (control / "HEAD").is_file() or not (common / "objects").is_dir():
        raise RepositoryRefused(f"{control} is not a git repository (no HEAD or no objects)")
    return GitDir(control, common)


def check_format(git: GitDir) -> None:
    """Refuse, before anything is written, what we do not know how to write (gitstore, section 1).

    Raises:
        RepositoryRefused: SHA-256 objects, an unknown extension or format version, reftable, a shallow clone, or a
            configuration that does not parse.
    """
    try:
        config = ConfigFile.from_path(str(git.common / "config"), expand_includes=False)
    except FileNotFoundError:
        return
    except (ValueError, OSError) as error:
        raise RepositoryRefused(f"the configuration of {git.common} cannot be read: {error}") from error
    version = _value(config, "core", "repositoryformatversion") or "0"
    if version not in ("0", "1"):
        raise RepositoryRefused(
            f"{git.common} has repository format version {version}; 0 and 1 are supported"
        )
    for name, value in _extensions(config).items():
        if name == "objectformat" and value.lower() == "sha1":
            continue
        if name not in _KNOWN_EXTENSIONS:
            raise RepositoryRefused(
                f"{git.common} uses the extension {name} = {value}, which gitmem does not write",
                "Nothing was changed. Without --adopt, gitmem init keeps its history in a git directory of its own.",
            )
    if (git.common / "shallow").exists():
        raise RepositoryRefused(
            f"{git.common} is a shallow clone: its history has holes", "Run: git fetch --unshallow"
        )


def _value(config: ConfigFile, section: str, name: str) -> str | None:
    try:
        return config.get((section.encode(),), name.encode()).decode("utf-8", "replace").strip()
    except KeyError:
        return None


def _extensions(config: ConfigFile) -> dict[str, str]:
    try:
        items = list(config.items((b"extensions",)))
    except KeyError:
        return {}
    return {
        name.decode("utf-8", "replace").lower(): value.decode("utf-8", "replace") for name, value in items
    }


def operation_in_progress(git: GitDir) -> str | None:
    """Name of a person's unfinished merge, rebase, cherry-pick, revert or bisect; None when there is none."""
    for mark, name in _OPERATIONS.items():
        if (git.control / mark).exists():
            return name
    return None


def await_index(git: GitDir) -> None:
    """Let a person's git command finish: it fails when the branch moves between its start and its end.

    `git commit` holds no lock while it makes the commit, so the moment after it touched its files counts too. Waits for a
    fresh lock only, and not for long: a left-behind one stops nothing.
    """
    deadline = time.monotonic() + _INDEX_PATIENCE
    while time.monotonic() < deadline and _person_at_work(git):
        time.sleep(0.01)


def _person_at_work(git: GitDir) -> bool:
    return any(_age(git.control / name) < fresh for name, fresh in _TOUCHED.items())


def _age(path: Path) -> float:
    """Seconds since a file was written; for ever where there is none, or a clock that went back."""
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return math.inf
    return age if age >= 0 else math.inf


def await_gc(git: GitDir) -> None:
    """Let a `git gc` finish before a ref names new objects: it may have made its list of garbage already (B35).

    Not for ever: what it deletes after all is written again (`Repository.recheck`).
    """
    deadline = time.monotonic() + _GC_PATIENCE
    while time.monotonic() < deadline and gc_runs(git):
        time.sleep(0.01)


def gc_runs(git: GitDir) -> bool:
    """Whether a `git gc` is at work on the objects."""
    try:
        number = (git.common / "gc.pid").read_text("ascii", "replace").split()[0]
        return process.alive(int(number))
    except (OSError, ValueError, IndexError):
        return False


def head_branch(git: GitDir) -> str | None:
    """Full name of the branch HEAD points to; None when HEAD is detached.

    Raises:
        RepositoryRefused: HEAD holds neither a branch nor a commit.
    """
    text = (git.control / "HEAD").read_text("utf-8", "replace").strip()
    if text.startswith("ref:"):
        return text.removeprefix("ref:").strip()
    if len(text) == 40 and all(c in "0123456789abcdef" for c in text):
        return None
    raise RepositoryRefused(f"{git.control / 'HEAD'} is damaged: it names neither a branch nor a commit")


def create(control: Path, worktree: Path | None, exclude: str) -> GitDir:
    """Make a new repository, private to its owner.

    Everything is written into a folder beside it and renamed at the end, so a crash leaves either a whole repository or none.

    Args:
        control: The git directory to make; it must not exist.
        worktree: Set as `core.worktree` where the repository does not lie inside it; None for `<workspace>/.git`.
        exclude: Lines for `info/exclude`, so that a person's `git status` shows and `git add` takes nothing private.
    """
    durable.make_folders(control.parent)
    for left_over in control.parent.glob(f"{control.name}.new-*"):
        shutil.rmtree(left_over)
    building = control.parent / f"{control.name}.new-{os.getpid()}"
    for folder in (
        "",
        "objects",
        "objects/info",
        "objects/pack",
        "refs",
        "refs/heads",
        "refs/tags",
        "info",
        "gitmem",
    ):
        (building / folder).mkdir(mode=0o700)
    lines = [
        "[core]",
        "\trepositoryformatversion = 0",
        "\tfilemode = true",
        "\tbare = false",
        "\tlogallrefupdates = true",
    ]
    if worktree is not None:
        lines.append(f"\tworktree = {_quoted(str(worktree))}")
    texts = {
        "HEAD": f"ref: refs/heads/{DEFAULT_BRANCH}\n",
        "config": "\n".join(lines) + "\n",
        "description": "The memory of an AI agent, kept by gitmem\n",
        "info/exclude": exclude,
        "info/attributes": _ATTRIBUTES,
    }
    for name, text in texts.items():
        durable.write_new(building / name, text.encode("utf-8", "surrogateescape"), 0o600)
    syscalls.replace(building, control)
    syscalls.fsync_dir(control.parent)
    return GitDir(control, control)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def enclosing(directory: Path) -> Path | None:
    """The nearest `.git` (folder or file) at or above `directory`, as git would find it; None where there is none."""
    for folder in (directory, *directory.parents):
        if (folder / ".git").exists() or (folder / ".git").is_symlink():
            return folder / ".git"
    return None
