"""A repository opened for reading, paths as typed, and a commit in a line or as JSON."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.cli.output import Part
from gitmem.core.model import CommitInfo, Kind, TreePath
from gitmem.edges import localtime
from gitmem.edges import workspace as workspaces
from gitmem.edges.repo import Repository
from gitmem.edges.workspace import Workspace
from gitmem.errors import UsageError

_COLOURS = {
    Kind.INIT: "bold",
    Kind.SESSION: "green",
    Kind.CONSOLIDATE: "cyan",
    Kind.COMPACT: "cyan",
    Kind.DREAM: "magenta",
    Kind.EDIT: "blue",
    Kind.DELETE: "red",
    Kind.FORGET: "red",
    Kind.CONFLICT: "bold red",
    Kind.FOREIGN: "dim",
}
_OWN_ACTION = "yellow"


@contextmanager
def reading(args: argparse.Namespace) -> Iterator[tuple[Workspace, Repository]]:
    """The workspace at or above `-C DIR` and its repository. No settings are loaded, nothing is locked."""
    workspace = workspaces.find(Path(args.directory))
    with Repository(workspace.git) as repo:
        yield workspace, repo


def tell_no_history() -> None:
    """Say that there is nothing to look at yet; not an error."""
    sys.stderr.write("No history yet: nothing is committed here. The first commit is made by: gitmem start\n")


def tree_paths(workspace: Workspace, directory: str, words: Sequence[str]) -> tuple[TreePath, ...]:
    """Paths as typed become paths in the tree; those below a mapped folder get its place in it.

    Args:
        workspace: The workspace.
        directory: What relative paths start from (`-C DIR`, as with git).
        words: As typed; `.` in the workspace's folder is the empty path, everything.

    Raises:
        UsageError: A path lies outside the workspace.
    """
    return tuple(_tree_path(workspace, directory, word) for word in words)


def _tree_path(workspace: Workspace, directory: str, word: str) -> TreePath:
    full = Path(os.path.normpath(Path(directory, word).absolute()))
    real = full.parent.resolve() / full.name  # a link itself is a file of the tree
    for prefix, root in sorted(workspace.layout.roots.items(), reverse=True):
        for base, path in ((root, full), (root.resolve(), real)):
            if path.is_relative_to(base):
                return "/".join(part for part in (prefix, *path.relative_to(base).parts) if part)
    raise UsageError(f"{word} is outside the workspace {workspace.directory}")


def headline(commit: CommitInfo) -> list[Part]:
    """The subject in parts, its kind coloured; a foreign commit is marked as one."""
    if commit.kind is Kind.FOREIGN:
        return [("foreign", _COLOURS[Kind.FOREIGN]), f": {commit.subject}"]
    kind = str(commit.kind)
    if not commit.subject.startswith(kind):
        return [commit.subject]
    return [(kind, _COLOURS.get(commit.kind, _OWN_ACTION)), commit.subject.removeprefix(kind)]


def local(commit: CommitInfo) -> datetime:
    """A commit's time in the zone of this machine."""
    return localtime.at(commit.time)


def body(commit: CommitInfo) -> str:
    """The message without its subject and its trailers."""
    text = commit.message.rstrip("\n")
    if commit.trailers:
        text = text.rpartition("\n\n")[0]
    return text.partition("\n")[2].strip("\n")


def as_json(commit: CommitInfo) -> dict[str, Any]:
    """A commit's facts; the time is ISO 8601 with this machine's offset."""
    return {
        "sha": commit.sha,
        "parents": list(commit.parents),
        "author": commit.author,
        "time": local(commit).isoformat(),
        "kind": str(commit.kind),
        "subject": commit.subject,
        "body": body(commit),
        "trailers": {name: list(values) for name, values in commit.trailers.items()},
        "session": commit.session,
    }
