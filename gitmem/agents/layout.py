"""How one agent's memory lies on disk: the values an adapter fills in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.model import PathClass, TreePath
from gitmem.core.paths import NATIVE_RULES, Rules, classify_path, descend


@dataclass(frozen=True)
class Layout:
    """Where the files of a workspace are and what they mean.

    Attributes:
        agent: The adapter's name, as `gitmem init --agent` takes it.
        directory: The workspace.
        mapped: Folders outside the workspace, by their place in the tree (`sessions` -> the agent's own folder).
        rules: What each path means.
        session_lock: A lock file that the agent's writers hold while they write sessions; None where it has none.
        processes: Words of a command line that tell that the agent runs; empty when that cannot be told.
        replays_itself: Whether the agent replays an interrupted turn at the session's next message.
        remembers_itself: Whether archiving and Dreams are the agent's own work, or there is nothing to archive.
    """

    agent: str
    directory: Path
    mapped: Mapping[str, Path]
    rules: Rules = NATIVE_RULES
    session_lock: Path | None = None
    processes: tuple[str, ...] = ()
    replays_itself: bool = False
    remembers_itself: bool = True

    @property
    def roots(self) -> dict[str, Path]:
        """Every root by its prefix in the tree; the workspace's is the empty string."""
        return {"": self.directory, **self.mapped}

    def place(self, path: TreePath) -> tuple[Path, TreePath]:
        """The root a tree path lives in, and its path below that root."""
        head, slash, rest = path.partition("/")
        if slash and head in self.mapped:
            return self.mapped[head], rest
        return self.directory, path

    def disk(self, path: TreePath) -> Path:
        """Where a tree path lies on disk."""
        root, below = self.place(path)
        return root / below

    def tree_path(self, prefix: str, below: TreePath) -> TreePath | None:
        """The tree path of a file found below a root; None for one that a mapped root hides."""
        if prefix:
            return f"{prefix}/{below}"
        return None if below.partition("/")[0] in self.mapped else below

    def from_disk(self, place: Path) -> TreePath | None:
        """The tree path of a file on disk; None for a root itself, and for one outside every root."""
        for prefix, root in (*self.mapped.items(), ("", self.directory)):
            if place != root and place.is_relative_to(root):
                return self.tree_path(prefix, place.relative_to(root).as_posix())
        return None

    def descend(self, below: TreePath) -> bool:
        """Whether a folder of the workspace may hold files worth keeping."""
        return descend(below, self.rules)

    def classify(self, path: TreePath) -> PathClass:
        """What a tree path means."""
        return classify_path(path, self.rules)
