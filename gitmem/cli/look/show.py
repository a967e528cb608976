"""One commit on the screen or as JSON."""

import argparse

from gitmem.actions import inspect
from gitmem.cli.look import changes, commits
from gitmem.cli.output import Screen, print_json, relative_time, screen
from gitmem.core.model import CommitInfo
from gitmem.edges import localtime


def run(args: argparse.Namespace) -> int:
    """Print the commit that the words mean, and its changes."""
    with commits.reading(args) as (workspace, repo):
        commit = inspect.newest(repo)
        if commit is None:
            commits.tell_no_history()
            return 0
        if args.when:
            commit = inspect.resolve(repo, " ".join(args.when))
        paths = commits.tree_paths(workspace, args.directory, args.after)
        found = inspect.changes(repo, commit, paths)
        if args.json:
            print_json(
                {**commits.as_json(commit), "files": changes.as_json(found, args, patch=not args.stat)}
            )
            return 0
        with screen(args) as out:
            _print_commit(out, commit)
            changes.write(out, found, args)
    return 0


def _print_commit(out: Screen, commit: CommitInfo) -> None:
    ago = relative_time(commit.time, localtime.now().timestamp())
    out.line((f"commit {commit.sha}", "yellow"))
    if len(commit.parents) > 1:
        out.line(f"Merge:  {' '.join(parent[:8] for parent in commit.parents)}")
    out.line(f"Author: {commit.author}")
    out.line(f"Date:   {commits.local(commit):%Y-%m-%d %H:%M:%S %z} ({ago})")
    out.line()
    out.line("    ", *commits.headline(commit))
    for line in commit.message.rstrip("\n").split("\n")[1:]:
        out.line(f"    {line}".rstrip())
    out.line()
