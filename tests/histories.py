"""A small workspace with a history to look back at."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

from dulwich.objects import Commit, ObjectID

from gitmem import agents
from gitmem.core import message
from gitmem.core.model import File, Kind, Message
from gitmem.edges import gitdir, workspace
from gitmem.edges.repo import Repository, Stamp
from gitmem.edges.workspace import Workspace

MAIN = "refs/heads/main"
ZONE = timezone(timedelta(hours=1))
NOW = datetime(2026, 3, 4, 15, 30, tzinfo=ZONE)
"""A Wednesday; commits are made before it."""


def new_workspace(directory: Path) -> Workspace:
    """An empty workspace of the native layout, with a repository of its own inside."""
    directory.mkdir(exist_ok=True)
    git = gitdir.create(directory / ".git", None, "")
    made = Workspace(directory, git, agents.layout("native", directory))
    workspace.record(made)
    return made


class History:
    """Commits made one after the other, without a working tree."""

    def __init__(self, repo: Repository) -> None:
        self.repo = repo

    def add(
        self,
        kind: Kind | str,
        files: Mapping[str, bytes | File | None],
        *,
        at: str = "2026-03-04T12:00",
        trailers: tuple[tuple[str, str], ...] = (),
        parents: tuple[str, ...] | None = None,
        ref: str = MAIN,
    ) -> str:
        """Commit files on `ref`; returns the commit's name.

        Args:
            kind: One of ours, or the whole message of a foreign commit.
            files: New bytes (or file) by path; None removes.
            at: Local time in `ZONE`.
            trailers: Of the message.
            parents: By default what `ref` is at.
            ref: Is moved to the commit.
        """
        old = self.repo.refs.read(ref)
        if parents is None:
            parents = () if old is None else (old,)
        names = ", ".join(files)
        if isinstance(kind, Kind):
            text = Message(kind, f"{kind}: {names}", (f"About {names}.",), trailers)
            data = message.render(text, host="host", agent="native")
        else:
            data = kind.encode()
        stamp = Stamp("agent <agent@host>", "gitmem <gitmem@host>", _second(at), 3600)
        entries = {path: File(file) if isinstance(file, bytes) else file for path, file in files.items()}
        sha = self.repo.write(parents, entries, data, stamp)
        assert self.repo.move(ref, old, sha, stamp)
        return sha

    def foreign(self, text: str, *, at: str, parents: tuple[str, ...]) -> str:
        """A commit without changes by another program, dated as that program liked; `MAIN` is moved to it."""
        commit = Commit()
        commit.tree = self.repo.root(parents[0])
        commit.parents = [ObjectID(parent.encode()) for parent in parents]
        commit.author = commit.committer = b"person <person@host>"
        commit.author_time = commit.commit_time = _second(at)
        commit.author_timezone = commit.commit_timezone = 3600
        commit.message = text.encode()
        self.repo.store.add_object(commit)
        (self.repo.git.common / MAIN).write_bytes(commit.id + b"\n")
        return commit.id.decode()


def _second(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp())
