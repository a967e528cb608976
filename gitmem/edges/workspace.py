"""Finding a workspace from any folder inside it, and the record that says it is one.

The record is `<git dir>/gitmem/workspace.json`. The git dir is `<workspace>/.git`, or a folder of its own in the state directory
when the workspace already has one, lies inside somebody's repository, or has roots outside (gitstore, section 1).
"""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from gitmem import agents
from gitmem.agents import Layout
from gitmem.edges import durable, gitdir
from gitmem.edges.gitdir import GitDir
from gitmem.errors import GitmemError, NoWorkspace, RepositoryRefused

FORMAT = 1
_RECORD = "workspace.json"


@dataclass(frozen=True)
class Workspace:
    """A memory workspace that gitmem keeps.

    Attributes:
        directory: The agent's folder, absolute. It may be missing at the moment (an unmounted disk).
        git: Where its repository is.
        layout: What its files mean.
        adopted: Whether the repository was there before and is shared with a person or an agent.
    """

    directory: Path
    git: GitDir
    layout: Layout
    adopted: bool = False

    @property
    def identity(self) -> str:
        """A short name, the same on this machine for ever: names its socket."""
        return _digest(self.git.control)

    @property
    def separate(self) -> bool:
        """Whether the repository lies outside the workspace."""
        return not self.git.control.is_relative_to(self.directory)


def state_home() -> Path:
    """Where git dirs of their own lie: `$XDG_STATE_HOME/gitmem` or the platform's equivalent."""
    return Path(os.environ.get("GITMEM_STATE_DIR") or platformdirs.user_state_path("gitmem"))


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def machine() -> str:
    """A random name of this machine and user, made at its first use and never shown to anybody else.

    It tells records written here from those that came with a copied folder.
    """
    path = state_home() / "machine"
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        durable.make_folders(path.parent)
        durable.replace(path, secrets.token_hex(16).encode() + b"\n", 0o600)
        return path.read_text("ascii").strip()


def was_ours(dot_git: Path) -> bool:
    """Whether gitmem made a repository, here or elsewhere, or began to."""
    return (dot_git / "gitmem").is_dir()


def separate_git_dir(directory: Path) -> Path:
    """The git dir of its own for a workspace: named after it, told apart by its absolute path."""
    return state_home() / "workspaces" / f"{directory.name or 'root'}-{_digest(directory)}.git"


def find(start: Path) -> Workspace:
    """The workspace at or above a folder.

    Raises:
        NoWorkspace: There is none; the hint tells how to make one.
    """
    start = start.expanduser().resolve()
    for directory in (start, *start.parents):
        found = _at(directory)
        if found is not None:
            return found
    raise NoWorkspace(
        f"no gitmem workspace at {start} or above it", "Make one with: gitmem init, or name one with -C DIR"
    )


def _at(directory: Path) -> Workspace | None:
    dot_git = directory / ".git"
    if dot_git.exists():
        try:
            git = gitdir.resolve(dot_git)
        except RepositoryRefused:
            if not (dot_git / "gitmem").is_dir():
                return _separate_at(directory)
            raise
        if (git.state / _RECORD).is_file():
            return load(git, directory)
    return _separate_at(directory)


def _separate_at(directory: Path) -> Workspace | None:
    own = separate_git_dir(directory)
    return load(gitdir.resolve(own), directory) if (own / "gitmem" / _RECORD).is_file() else None


def load(git: GitDir, directory: Path | None = None) -> Workspace:
    """Read the record of a git dir.

    Args:
        git: The repository.
        directory: Where the workspace is now; the recorded place when not given.

    Raises:
        NoWorkspace: The record came from another machine with a copy of the folder: what it says about session folders and
            remotes is not believed before a person says so.
        GitmemError: The record is damaged or was written by a newer gitmem.
    """
    path = git.state / _RECORD
    try:
        record: Any = json.loads(path.read_text("utf-8"))
        version, agent = record["format"], record["agent"]
        place = directory or Path(record["directory"])
        sessions = record.get("sessions")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GitmemError(f"{path} is damaged: {error}", "Write it anew with: gitmem init") from error
    if version != FORMAT:
        raise GitmemError(f"{path} has format {version}; this gitmem knows {FORMAT}", "Upgrade gitmem.")
    if record.get("machine") != machine():
        raise NoWorkspace(
            f"{path} was written on another machine, or for another user",
            "If you brought the folder here: gitmem init (and add its remotes again)",
        )
    layout = agents.layout(agent, place, Path(sessions) if sessions else None)
    return Workspace(place, git, layout, adopted=bool(record.get("adopted")))


def record(workspace: Workspace) -> None:
    """Write the record. From then on the folder is a workspace."""
    sessions = workspace.layout.mapped.get("sessions")
    values: Mapping[str, object] = {
        "format": FORMAT,
        "agent": workspace.layout.agent,
        "directory": str(workspace.directory),
        "sessions": None if sessions is None else str(sessions),
        "adopted": workspace.adopted,
        "machine": machine(),
    }
    durable.make_folders(workspace.git.state)
    durable.replace(workspace.git.state / _RECORD, json.dumps(values, indent=1).encode() + b"\n", 0o600)
