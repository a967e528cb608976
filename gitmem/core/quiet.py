"""Many changes become one batch. Time is an argument: the heart has no sleep, thread or clock."""

from dataclasses import dataclass, field
from math import inf

from gitmem.core.model import Batch, TreePath


@dataclass(slots=True)
class QuietWindow:
    """Holds changes until all is quiet, but never so long that a chatty writer starves them (gitstore, section 3.2).

    All times are seconds of one clock that never goes back.

    Attributes:
        quiet: A batch closes when nothing was added for this long,
        limit: or when its oldest change is this old.
    """

    quiet: float
    limit: float
    _first: dict[TreePath, float] = field(default_factory=dict)
    _oldest: float = inf
    _last: float = -inf
    _not_before: float = -inf
    _told: bool = False

    def add(self, path: TreePath, at: float) -> None:
        """A path changed; the time of its first change in this batch counts."""
        self._first.setdefault(path, at)
        self._oldest = min(self._oldest, at)
        self._last = max(self._last, at)

    def put_back(self, path: TreePath, first_seen: float, at: float) -> None:
        """A taken path could not be used: look again after one quiet time; its age counts on.

        Args:
            path: The path.
            first_seen: As the batch had it.
            at: Now.
        """
        self._first[path] = min(first_seen, self._first.get(path, first_seen))
        self._oldest = min(self._oldest, first_seen)
        self._not_before = max(self._not_before, at + self.quiet)

    def notify(self, at: float) -> None:
        """Somebody told us that what was written is complete: what is held closes at once."""
        self._told = bool(self._first)
        self._last = max(self._last, at)

    @property
    def due(self) -> float | None:
        """When the batch closes, perhaps in the past; None when nothing is held."""
        if not self._first:
            return None
        if self._told:
            return self._oldest
        return max(self._not_before, min(self._last + self.quiet, self._oldest + self.limit))

    def take(self, now: float) -> Batch | None:
        """The batch, if it is due; what comes afterwards belongs to the next one."""
        due = self.due
        if due is None or now < due:
            return None
        batch = Batch(self._first)
        self._first = {}
        self._oldest, self._last, self._not_before, self._told = inf, -inf, -inf, False
        return batch
