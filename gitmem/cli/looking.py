"""What log, show, diff and cat share: a repository opened for reading, paths as typed, a commit in a line and as JSON."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.core.model import CommitInfo, Kind, TreePath
from gitmem.edges import localtime
from gitmem.edges import workspace as workspaces
from gitmem.edges.repo import Repository
from gitmem.edges.workspace import Workspace
from gitmem.errors import UsageError

WHEN_HELP = (
    "an id, HEAD~3, a branch, a date, '2h ago', 'noon yesterday', 'last dream', 'before last dream', ..."
)

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
    """The workspace at or above `-C DIR` and its repository; no settings are loaded, nothing is locked or written."""
    workspace = workspaces.find(Path(args.directory))
    with Repository(workspace.git) as repo:
        yield workspace, repo


def tell_no_history() -> None:
    """Say that there is nothing to look at yet; not an error."""
    sys.stderr.write("No history yet: nothing is committed here. The first commit is made by: gitmem start\n")


def after_dashes(args: argparse.Namespace) -> list[str] | None:
    """The words behind `--`; None where the command line was not split there."""
    after: list[str] | None = getattr(args, "after", None)
    return after


def tree_paths(workspace: Workspace, args: argparse.Namespace, words: Sequence[str]) -> tuple[TreePath, ...]:
    """Paths as typed, relative to `-C DIR` as with git, or absolute; below a mapped folder they get its place in the tree.

    Raises:
        UsageError: A path lies outside the workspace.
    """
    return tuple(_tree_path(workspace, args.directory, word) for word in words)


def _tree_path(workspace: Workspace, directory: str, word: str) -> TreePath:
    full = os.path.normpath(os.path.join(os.path.abspath(directory), word))
    roots = sorted(workspace.layout.roots.items(), key=lambda item: len(item[0]), reverse=True)
    for prefix, root in roots:
        for base, path in ((str(root), full), (os.path.realpath(root), _real(full))):
            if path == base or path.startswith(base.rstrip("/") + "/"):
                below = os.path.relpath(path, base)
                return "/".join(part for part in (prefix, below) if part not in ("", "."))
    raise UsageError(f"{word} is outside the workspace {workspace.directory}")


def _real(path: str) -> str:
    """A path with the links on the way to it resolved, but not itself: a link is a file of the tree."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def headline(commit: CommitInfo) -> list[str | tuple[str, str]]:
    """The subject in parts, its kind coloured; a foreign commit is marked as such."""
    style = _COLOURS.get(commit.kind, _OWN_ACTION)
    if commit.kind is Kind.FOREIGN:
        return [("foreign", style), f": {commit.subject}"]
    kind = str(commit.kind)
    if commit.subject.startswith(kind):
        return [(kind, style), commit.subject.removeprefix(kind)]
    return [commit.subject]


def local(commit: CommitInfo) -> datetime:
    """A commit's time in the zone of this machine."""
    return localtime.at(commit.time)


def body(commit: CommitInfo) -> str:
    """The message without its subject and without its trailers."""
    text = commit.message.rstrip("\n")
    if commit.trailers:
        text = text.rpartition("\n\n")[0]
    return text.partition("\n")[2].strip("\n")


def as_json(commit: CommitInfo) -> dict[str, Any]:
    """A commit's facts; times are ISO 8601 with the offset of this machine's zone."""
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
