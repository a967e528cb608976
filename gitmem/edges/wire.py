"""What the process that pushes and the one that waits for it say to each other: one JSON document each way.

The request travels on the child's standard input only, because it may hold a password; never as an
argument, in the environment or in a file (merge.md, section 5, secrets).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from gitmem.errors import GitmemError, RemoteError, RepositoryRefused

DAMAGED = "damaged"
"""State of a `Trouble` that is about our own repository, not the remote."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user name and password (or token) for an http remote."""

    username: str
    password: str = field(repr=False)


class Outcome(StrEnum):
    """What became of one ref."""

    PUSHED = "pushed"
    SAME = "same"
    """The remote had it already."""
    DIVERGED = "diverged"
    """The remote holds commits that ours does not build on; nothing was overwritten."""
    REFUSED = "refused"
    """The server would not take it: a hook, a rule, no space."""

    @property
    def arrived(self) -> bool:
        """Whether the remote holds our commit now."""
        return self in (Outcome.PUSHED, Outcome.SAME)


@dataclass(frozen=True, slots=True)
class Offer:
    """A ref to push to the same name.

    Attributes:
        ref: Full name.
        sha: Our commit.
        seen: The commit that the remote was last known to hold there; None where never.
    """

    ref: str
    sha: str
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class RefResult:
    """What became of an `Offer`.

    Attributes:
        ref: Full name.
        outcome: How it went.
        ours: Our commit.
        theirs: What the server said it held there before; None where there was no such ref.
        text: One sentence for a person where it did not arrive.
    """

    ref: str
    outcome: Outcome
    ours: str
    theirs: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything the child needs; it reads no configuration.

    Attributes:
        git: The repository's common directory (objects).
        url: Address of the remote.
        offers: What to push; empty for a fetch.
        login: For http, where one is known already.
        ask_helper: Whether `git credential fill` may be asked when the server wants a login and none is
            given.
        ssh_command: Program and options to use instead of `ssh`.
        ca_file: Certificates to trust for https instead of the system's.
        patience: Seconds without an answer after which a connection counts as dead.
        deadline: Seconds after which the child ends itself, should nobody else.
        fetch: The ref to fetch instead.
        haves: Commits that we have with everything they refer to; for a fetch.
    """

    git: str
    url: str
    offers: tuple[Offer, ...]
    login: Login | None
    ask_helper: bool
    ssh_command: str | None
    ca_file: str | None
    patience: float
    deadline: float
    fetch: str | None = None
    haves: tuple[str, ...] = ()

    def dump(self) -> bytes:
        """As JSON; an undecodable path goes through as escaped surrogates."""
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def load(cls, data: bytes) -> Self:
        """Read what `dump` wrote."""
        fields: dict[str, Any] = json.loads(data)
        login = fields.pop("login")
        offers = tuple(Offer(**offer) for offer in fields.pop("offers"))
        haves = tuple(fields.pop("haves"))
        return cls(**fields, offers=offers, haves=haves, login=None if login is None else Login(**login))


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error on its way between processes; `state` as in `RemoteError`, or `DAMAGED`."""

    state: str
    message: str
    hint: str | None = None

    def error(self) -> GitmemError:
        """As the exception to raise."""
        if self.state == DAMAGED:
            return RepositoryRefused(self.message, self.hint)
        return RemoteError(self.state, self.message, self.hint)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the child did.

    Attributes:
        refs: One result for each ref offered; empty when the transfer failed before any was decided.
        objects: Objects sent.
        server: The last lines the server wrote for a person, without control characters.
        trouble: Why the transfer failed as a whole.
        fetched: Where the ref that was to be fetched is; None where there is no such ref.
    """

    refs: tuple[RefResult, ...] = ()
    objects: int = 0
    server: str = ""
    trouble: Trouble | None = None
    fetched: str | None = None

    def dump(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def load(cls, data: bytes) -> Self:
        """Read what `dump` wrote.

        Raises:
            ValueError: It is something else (the child died while writing).
        """
        try:
            return cls._from(json.loads(data))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a reply: {error}") from error

    @classmethod
    def _from(cls, fields: Mapping[str, Any]) -> Self:
        refs = tuple(RefResult(**{**ref, "outcome": Outcome(ref["outcome"])}) for ref in fields["refs"])
        trouble = fields["trouble"]
        problem = None if trouble is None else Trouble(**trouble)
        return cls(refs, fields["objects"], fields["server"], problem, fields["fetched"])
