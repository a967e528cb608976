"""The commits that match, on the screen or as JSON lines."""

import argparse
import sys

from gitmem.actions import inspect
from gitmem.actions.inspect import Filter
from gitmem.cli.look import changes, commits
from gitmem.cli.output import Screen, print_json, relative_time, screen
from gitmem.core.model import CommitInfo, Kind
from gitmem.edges import localtime
from gitmem.edges.repo import Repository
from gitmem.edges.workspace import Workspace


def run(args: argparse.Namespace) -> int:
    """Print them; none at all is no failure."""
    with commits.reading(args) as (workspace, repo):
        if inspect.newest(repo) is None:
            commits.tell_no_history()
            return 0
        wanted = _filter(repo, workspace, args)
        if args.json:
            _print_json(repo, wanted, args)
            return 0
        told = False
        with screen(args) as out:
            for commit in inspect.log(repo, wanted):
                if told and (args.patch or args.stat) and not args.oneline:
                    out.line()
                told = True
                _print_line(out, commit, args)
                if args.patch or args.stat:
                    changes.write(out, inspect.changes(repo, commit, wanted.paths), args)
        if not told:
            sys.stderr.write("No commit matches.\n")
    return 0


def _filter(repo: Repository, workspace: Workspace, args: argparse.Namespace) -> Filter:
    return Filter(
        kinds=frozenset(Kind(name) for name in args.kind or ()),
        session=args.session,
        paths=commits.tree_paths(workspace, args.directory, [*args.paths, *args.after]),
        since=None if args.since is None else inspect.moment(repo, args.since, end=False),
        until=None if args.until is None else inspect.moment(repo, args.until, end=True),
        limit=args.max_count,
    )


def _print_line(out: Screen, commit: CommitInfo, args: argparse.Namespace) -> None:
    ago = relative_time(commit.time, localtime.now().timestamp())
    times = "" if args.oneline else f"{commits.local(commit):%Y-%m-%d %H:%M}  {ago:<14} "
    out.line((commit.sha[:8], "yellow"), f" {times}", *commits.headline(commit))


def _print_json(repo: Repository, wanted: Filter, args: argparse.Namespace) -> None:
    for commit in inspect.log(repo, wanted):
        row = commits.as_json(commit)
        if args.patch or args.stat:
            found = inspect.changes(repo, commit, wanted.paths)
            row["files"] = changes.as_json(found, args, patch=args.patch)
        print_json(row)
