"""When to try a remote again. Time and jitter are arguments."""

from dataclasses import dataclass, replace
from typing import Self

FIRST = 5.0
LONGEST = 600.0
WAITING = 900.0
"""Seconds after which even a trouble that needs a person is looked at again (merge.md, section 5)."""

_NEEDS_CHANGE = frozenset({"auth", "missing", "diverged"})
"""States that go away only when somebody does something: settings, credentials, the remote itself."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How a remote's recent tries went, and when the next one is due.

    Network trouble, timeouts and refusals are tried again after 5 s, doubling up to 10 minutes: a server that
    refuses may be busy only (B59). What needs a person is tried again when something changed, or after 15
    minutes.

    Attributes:
        failures: Tries in a row that failed.
        state: The `RemoteError.state` of the last failure; None after a success.
        since: Seconds (same clock as `now`) of the first failure in the row.
        due: Seconds before which not to try; None means at any time.
    """

    failures: int = 0
    state: str | None = None
    since: float | None = None
    due: float | None = None

    def failed(self, state: str, now: float, jitter: float) -> Self:
        """The state after a failed try.

        Args:
            state: The `RemoteError.state`.
            now: Seconds of any steady clock.
            jitter: 0 to 1, from a source of randomness: stretches the pause by up to a quarter, so that two
                machines that failed together do not come back together.
        """
        failures = self.failures + 1
        pause = WAITING if state in _NEEDS_CHANGE else min(FIRST * 2 ** min(failures - 1, 16), LONGEST)
        since = now if self.since is None else self.since
        return replace(self, failures=failures, state=state, since=since, due=now + pause * (1 + jitter / 4))

    def succeeded(self) -> Self:
        """The state after a try that worked."""
        return type(self)()

    def changed(self) -> Self:
        """The state after settings, credentials or the remote's record changed: a try is due at once."""
        return replace(self, failures=0, due=None)

    def ready(self, now: float) -> bool:
        """Whether a try is allowed now."""
        return self.due is None or now >= self.due
