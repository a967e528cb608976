"""The tree of errors. Each owns an exit code and, where it helps, a hint naming the next command.

GitmemError               1   something failed; the message says what and where
├── UsageError            2   the words of a command are off
├── PartlyDone            3   some of it was done; the message names what was not
├── NeedsDecision         4   a person must decide
│   ├── Conflict              a change cannot be undone cleanly; carries the conflicting texts
│   └── SessionInUse          an agent holds the session in memory
├── NoWorkspace          10   no gitmem workspace here
├── WorkspaceLocked      11   another gitmem holds this workspace
├── RepositoryRefused     1   an object format, extension or damage that we do not write to
├── RepositoryBusy        1   somebody else holds a lock of the repository
├── UnsafePath            1   a path that leaves its root, or that we never write
├── NotFound              1   no such commit, path, session or remote
├── Stale                 1   a file was changed by others since it was read, in the same place
│   ├── StaleSession          a session
│   └── StaleMemory           a long-term file
├── ConfigError           2   a settings file or variable is wrong
├── RemoteError           1   network trouble; its `state` tells which kind
├── ModelError            1   a model gave no usable answer; its `reason` tells why
└── DreamFailed           1   a Dream changed nothing; its message tells why
"""

from collections.abc import Sequence


class GitmemError(Exception):
    """Base of all errors that gitmem raises on purpose.

    Args:
        message: What went wrong and where, in one sentence without a final full stop.
        hint: What to do next, naming a command where one helps.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(GitmemError):
    """The words of a command are off."""

    exit_code = 2


class ConfigError(GitmemError):
    """A settings file, option or environment variable holds something unusable."""

    exit_code = 2


class PartlyDone(GitmemError):  # noqa: N818  (an outcome, named as the exit code is documented)
    """Some of what was asked for was done; the message names what was not."""

    exit_code = 3


class NeedsDecision(GitmemError):  # noqa: N818
    """Nothing was done, because a person must decide."""

    exit_code = 4


class Conflict(NeedsDecision):
    """A change cannot be undone or merged cleanly.

    Args:
        message: What was refused.
        details: The conflicting texts, one printable block each.
        hint: What to do next.
    """

    def __init__(self, message: str, details: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.details = tuple(details)


class SessionInUse(NeedsDecision):
    """An agent probably holds the session in memory and would write its own version over ours."""


class NoWorkspace(GitmemError):  # noqa: N818
    """There is no gitmem workspace at or above the given directory."""

    exit_code = 10


class WorkspaceLocked(GitmemError):  # noqa: N818
    """Another gitmem process holds this workspace."""

    exit_code = 11


class RepositoryRefused(GitmemError):  # noqa: N818
    """The repository has a format, an extension or a damage that we refuse to write to."""


class RepositoryBusy(GitmemError):  # noqa: N818
    """Somebody else holds a lock file of the repository; trying again later may help.

    Args:
        message: What is held.
        hint: What to do next.
        lock: The lock file in the way; None where it is not a file.
    """

    def __init__(self, message: str, hint: str | None = None, lock: str | None = None) -> None:
        super().__init__(message, hint)
        self.lock = lock


class UnsafePath(GitmemError):  # noqa: N818
    """A path leaves its root, passes a symbolic link, or has a name that we never write."""


class NotFound(GitmemError):  # noqa: N818
    """No such commit, path, session or remote."""


class Stale(GitmemError):  # noqa: N818
    """What is to be saved was changed by others since it was read, in a way that cannot be merged. Read it again."""


class StaleSession(Stale):
    """A session was changed by others since it was loaded, in the same place. Load it, and make the change again."""


class StaleMemory(Stale):
    """The same facts of a long-term file were changed by others since it was read. Read it, and make the change again."""


class RemoteError(GitmemError):
    """Talking to a remote failed.

    Args:
        state: One of `offline`, `auth`, `missing`, `refused`, `diverged`, `timeout`, `protocol`.
        message: What happened, never with a password or token in it.
        hint: What to do next.
    """

    def __init__(self, state: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.state = state


class ModelError(GitmemError):
    """A model gave no usable answer.

    Args:
        reason: A short word for `status` and trailers: `none` (no model is set), `offline`, `timeout`, `rate-limit`, `auth`,
            `payment`, `refused` (the request is not accepted), `server`, or what is wrong with the answer.
        message: What happened, never with a key in it.
        hint: What to do next.
        status: The HTTP status, where there was one.
        retry_after: Seconds that the server asked to wait, where it did.
        tokens: Tokens of the prompt and of the answer that it took all the same.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        hint: str | None = None,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        tokens: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(message, hint)
        self.reason = reason
        self.status = status
        self.retry_after = retry_after
        self.tokens = tokens

    @property
    def unreachable(self) -> bool:
        """Whether the model was not asked at all, so that asking later may well work."""
        return self.reason in {"none", "offline", "timeout", "rate-limit", "server", "auth", "payment"}


class DreamFailed(GitmemError):  # noqa: N818
    """A Dream run ended without a result: memory and its cursor are as before.

    Args:
        reason: A short word for `status` and trailers.
        message: What happened.
        hint: What to do next.
    """

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.reason = reason
