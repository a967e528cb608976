"""A workspace with everything an action needs: its repository, its settings, its lock, and what each path means."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.core import ignore, message
from gitmem.core.model import Message, PathClass, TreePath
from gitmem.edges import config, files, walk
from gitmem.edges.config import Settings
from gitmem.edges.files import Reading, Signature
from gitmem.edges.lock import FileLock
from gitmem.edges.repo import Repository, Stamp
from gitmem.edges.workspace import Workspace

IGNORE_FILE = ".gitmemignore"
_WRITE_PATIENCE = 30.0
"""Seconds an action waits for another gitmem process to finish its commit."""


@dataclass
class Opened:
    """An open workspace. One per process and workspace; the write lock orders processes.

    Attributes:
        workspace: Where it is.
        repo: Its repository.
        settings: The settings in force.
        clock: Unix seconds; an argument so that tests and replays of the past can set it.
    """

    workspace: Workspace
    repo: Repository
    settings: Settings
    clock: Callable[[], float] = time.time
    _patterns: tuple[ignore.Patterns, ignore.Patterns] | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """This machine's name, in characters that refs and mail addresses allow."""
        return _ref_safe(self.settings.host) or "localhost"

    @property
    def inflight_ref(self) -> str:
        """Where run state is committed (gitstore, section 2)."""
        return f"refs/gitmem/inflight/{self._place}"

    @property
    def pending_ref(self) -> str:
        """Where commits go while a person is in the middle of a merge or the like."""
        return f"refs/gitmem/pending/{self._place}"

    @property
    def _place(self) -> str:
        """The host; worktrees of one repository share its refs, so a linked one adds its own name."""
        git = self.workspace.git
        return self.host if git.control == git.common else f"{self.host}-{_ref_safe(git.control.name)}"

    def stamp(self) -> Stamp:
        """Author (the agent, or as set) and committer (gitmem on this host) of a commit made now."""
        agent = self.workspace.layout.agent
        author = self.settings.author or f"{agent} <{agent}@{self.host}>"
        now = self.clock()
        offset = time.localtime(now).tm_gmtoff
        return Stamp(_identity(author), f"gitmem <gitmem@{self.host}>", int(now), offset)

    def render(self, text: Message) -> bytes:
        """A commit message as bytes, signed with host and agent."""
        return message.render(text, host=self.host, agent=self.workspace.layout.agent)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the workspace's write lock: one gitmem process commits or installs at a time."""
        with FileLock(self.workspace.git.state / "write.lock").hold(_WRITE_PATIENCE):
            yield

    def classify(self, path: TreePath) -> PathClass:
        """What a path means, the person's include and exclude patterns taken into account."""
        found = self.workspace.layout.classify(path)
        if found.versioned:
            return PathClass.OTHER if self._pattern_pair()[1].match(path) else found
        if found is PathClass.OTHER:
            include, exclude = self._pattern_pair()
            if include.match(path) and not exclude.match(path):
                return PathClass.ATTACHMENT
        return found

    def _pattern_pair(self) -> tuple[ignore.Patterns, ignore.Patterns]:
        if self._patterns is None:
            path = self.workspace.directory / IGNORE_FILE
            lines = path.read_text("utf-8", "replace").split("\n") if path.is_file() else []
            self._patterns = (
                ignore.parse(self.settings.include),
                ignore.parse([*self.settings.exclude, *lines]),
            )
        return self._patterns

    def reload_patterns(self) -> None:
        """Read the patterns again at the next use, after a change of `.gitmemignore`."""
        self._patterns = None

    def read(self, path: TreePath) -> Reading:
        """Read a tree path from the disk without being fooled by writers or links."""
        root, below = self.workspace.layout.place(path)
        limit = self.settings.attachment_limit if self.classify(path) is PathClass.ATTACHMENT else None
        return files.read_stable(root, below, limit=limit)

    def walk(self) -> Iterator[tuple[TreePath, Signature]]:
        """Every file of every root that gitmem versions (or keeps in flight), with its signature."""
        layout = self.workspace.layout
        for prefix, root in layout.roots.items():
            if not root.is_dir():
                continue
            for below, signature in walk.walk(root, descend=layout.descend):
                path = layout.tree_path(prefix, below)
                if path is not None:
                    yield path, signature


def _ref_safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64]


def _identity(text: str) -> str:
    """`Name <mail>` without anything git refuses in a name."""
    clean = re.sub(r"[\x00-\x1f\x7f]", "", text).strip()
    match = re.fullmatch(r"([^<>]*)<([^<>\s]*)>", clean)
    name, mail = (match[1].strip(), match[2]) if match else (re.sub(r"[<>]", "", clean), "")
    return f"{name or 'agent'} <{mail or 'agent@localhost'}>"


@contextmanager
def open_workspace(workspace: Workspace, settings: Settings | None = None) -> Iterator[Opened]:
    """Open a workspace's repository and settings for the length of a `with` block.

    Raises:
        RepositoryRefused: Its repository is of a kind or in a state that we do not write to.
        ConfigError: A setting is wrong.
    """
    with Repository(workspace.git) as repo:
        yield Opened(workspace, repo, settings or config.load(workspace.directory))


def missing_root(workspace: Workspace) -> Path | None:
    """The first root (or the git dir) that is not there now: an unmounted disk, a folder moved away."""
    places = (*workspace.layout.roots.values(), workspace.git.control)
    return next((place for place in places if not os.path.isdir(place)), None)
