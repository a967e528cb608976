"""Two moments, or one and the disk, on the screen or as JSON."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gitmem.actions import inspect
from gitmem.cli.look import changes, commits
from gitmem.cli.output import print_json, screen
from gitmem.core.model import Change, CommitInfo, TreePath
from gitmem.core.pathspec import is_below
from gitmem.edges.repo import Repository
from gitmem.edges.workspace import Workspace
from gitmem.errors import GitmemError, NotFound, UsageError

_WORDS = 8
"""More words than this are not one moment."""


def run(args: argparse.Namespace) -> int:
    """Print what differs; 1 when something does and `--exit-code` is given."""
    with commits.reading(args) as (workspace, repo):
        newest = inspect.newest(repo)
        if newest is None:
            commits.tell_no_history()
            return 0
        points, paths = _understood(repo, workspace, args)
        old, new = points[0] if points else newest, points[1] if len(points) > 1 else None
        with _found(repo, workspace, old, new, paths) as found:
            differs = _print(found, old, new, args)
    return int(differs and args.exit_code)


def _print(
    found: Iterator[Change], old: CommitInfo, new: CommitInfo | None, args: argparse.Namespace
) -> bool:
    if args.json:
        files = changes.as_json(found, args, patch=not args.stat)
        print_json({"from": old.sha, "to": None if new is None else new.sha, "files": files})
        return bool(files)
    differs = True  # also when the reader goes away before the end
    with screen(args) as out:
        differs = changes.write(out, found, args)
    return differs  # noqa: RET504  (it may keep its first value: the block ends early, not the function)


@contextmanager
def _found(
    repo: Repository, workspace: Workspace, old: CommitInfo, new: CommitInfo | None, paths: Sequence[TreePath]
) -> Iterator[Iterator[Change]]:
    if new is not None:
        yield inspect.between(repo, old, new, paths)
        return
    # Settings are needed to know what belongs on disk; loading them takes longer than all the rest.
    from gitmem.actions.compare import against_disk
    from gitmem.edges.opened import missing_root, open_workspace

    missing = missing_root(workspace)
    if missing is not None:
        raise GitmemError(
            f"{missing} is missing", "Mount or put back the folder; what was in it is in history."
        )
    with open_workspace(workspace) as opened:
        yield against_disk(opened, old, paths)


def _understood(
    repo: Repository, workspace: Workspace, args: argparse.Namespace
) -> tuple[list[CommitInfo], tuple[TreePath, ...]]:
    """Up to two moments from the front of the words; what remains, and what stands behind `--`, are paths."""
    words = [part for word in args.words for part in _ends(word)]
    points: list[CommitInfo] = []
    while words and len(points) < 2:
        point, used = _longest(repo, words)
        if point is None:
            break
        points.append(point)
        words = words[used:]
    paths = commits.tree_paths(workspace, args.directory, words)
    for word, path in zip(words, paths, strict=True):
        if not os.path.lexists(workspace.layout.disk(path)) and not _was_there(repo, points, path):
            raise _not_understood(repo, word)
    return points, (*paths, *commits.tree_paths(workspace, args.directory, args.after))


def _ends(word: str) -> list[str]:
    """`A..B` is two moments, as in git; a path with dots in it is left alone."""
    first, dots, second = word.partition("..")
    return [first or "HEAD", second or "HEAD"] if dots and "/" not in word and word != ".." else [word]


def _longest(repo: Repository, words: Sequence[str]) -> tuple[CommitInfo | None, int]:
    """The commit that as many as possible of the first words mean, and how many these are."""
    for used in range(min(len(words), _WORDS), 0, -1):
        try:
            return inspect.resolve(repo, " ".join(words[:used])), used
        except (NotFound, UsageError):
            continue
    return None, 0


def _was_there(repo: Repository, points: Sequence[CommitInfo], path: TreePath) -> bool:
    known = [*points, *filter(None, [inspect.newest(repo)])]
    return any(is_below(name, (path,)) for commit in known for name in repo.files(commit.sha))


def _not_understood(repo: Repository, word: str) -> GitmemError:
    """Why a word is neither a path nor a moment: what looking it up as a moment said."""
    try:
        inspect.resolve(repo, word)
    except (NotFound, UsageError) as error:
        return UsageError(f"{word!r} is neither a file here nor a moment: {error}", error.hint)
    return UsageError(f"{word!r} is one moment too many", "Two at most: gitmem diff FROM TO -- PATH...")
