"""Many changes become one batch. Time is an argument: the heart has no sleep, thread or clock."""

from dataclasses import dataclass, field

from gitmem.core.model import Batch, TreePath


@dataclass(slots=True)
class QuietWindow:
    """Holds changes until the workspace has been quiet for `quiet` seconds, or the oldest is `limit` seconds old."""

    quiet: float
    limit: float
    _first: dict[TreePath, float] = field(default_factory=dict)
    _last: float = 0.0
    _told: bool = False

    def add(self, path: TreePath, at: float) -> None:
        """A path changed at a time (seconds, monotonic)."""
        self._first.setdefault(path, at)
        self._last = max(self._last, at)

    def put_back(self, path: TreePath, first_seen: float, at: float) -> None:
        """A path could not be taken: look again after another quiet time; its age counts on."""
        self._first[path] = min(first_seen, self._first.get(path, first_seen))
        self._last = max(self._last, at)

    def notify(self, at: float) -> None:
        """Somebody told us that what was written is complete: the batch closes at once."""
        self._told = bool(self._first)
        self._last = max(self._last, at)

    @property
    def due(self) -> float | None:
        """When the batch closes; None when nothing is held."""
        if not self._first:
            return None
        oldest = min(self._first.values())
        if self._told:
            return oldest
        overdue = oldest + self.limit
        return min(self._last + self.quiet, overdue if overdue > self._last else self._last + self.quiet)

    def take(self, now: float) -> Batch | None:
        """The batch, if it is due."""
        due = self.due
        if due is None or now < due:
            return None
        batch = Batch(dict(self._first))
        self._first.clear()
        self._told = False
        return batch
