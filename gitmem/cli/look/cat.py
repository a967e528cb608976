"""Files as they were: exact bytes, text that is safe on a terminal, or JSON."""

import argparse
import base64
from typing import Any

from gitmem.actions import inspect
from gitmem.cli.look import commits
from gitmem.cli.output import print_json, screen
from gitmem.core.model import CommitInfo, File, TreePath
from gitmem.core.printable import decode
from gitmem.edges.repo import Repository
from gitmem.edges.workspace import Workspace


def run(args: argparse.Namespace) -> int:
    """Print the files one after the other; nothing is printed when one of them is missing."""
    with commits.reading(args) as (workspace, repo):
        found = [_look_up(repo, workspace, args, word) for word in args.paths]
    if args.json:
        rows = [_as_json(*item) for item in found]
        print_json(rows[0] if len(rows) == 1 else rows)
        return 0
    with screen(args) as out:
        for _, _, file in found:
            if out.terminal:
                out.text(decode(file.data))
            else:
                out.raw(file.data)
    return 0


def _look_up(
    repo: Repository, workspace: Workspace, args: argparse.Namespace, word: str
) -> tuple[TreePath, CommitInfo, File]:
    name, when = _parted(repo, workspace, args, word)
    (path,) = commits.tree_paths(workspace, args.directory, [name])
    commit = None if when else inspect.newest(repo)
    commit = commit or inspect.resolve(repo, when or "HEAD")
    return path, commit, inspect.file_at(repo, path, commit)


def _parted(repo: Repository, workspace: Workspace, args: argparse.Namespace, word: str) -> tuple[str, str]:
    """The path and the WHEN of `PATH@WHEN`; a file whose whole name is like that goes first."""
    name, _, when = word.rpartition("@")
    if args.at is not None or not name:
        return word, args.at or ""
    (path,) = commits.tree_paths(workspace, args.directory, [word])
    newest = inspect.newest(repo)
    whole = newest is not None and repo.entry(newest.sha, path) is not None
    return (word, "") if whole else (name, when)


def _as_json(path: TreePath, commit: CommitInfo, file: File) -> dict[str, Any]:
    row = {"path": path, "commit": commit.sha, "mode": f"{file.mode:06o}", "size": len(file.data)}
    try:
        return {**row, "text": file.data.decode("utf-8")}
    except UnicodeDecodeError:
        return {**row, "base64": base64.b64encode(file.data).decode("ascii")}
