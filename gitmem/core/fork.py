"""A conversation that goes on differently from one of its turns: the session that a fork starts with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile

from gitmem.core import jsonl
from gitmem.core.checkpoint import PROVIDER_STATE, VOLATILE
from gitmem.core.conversation import Message
from gitmem.core.session import Session, parse, render
from gitmem.errors import UsageError

_SUMMARY = "_last_summary"
_GOALS = frozenset({"goal_state", "thread_goal"})
"""State that tells where a conversation has got to: not true of an earlier point of it."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A session forked from another.

    Attributes:
        data: The new file.
        messages: How many messages it holds.
    """

    data: bytes
    messages: int


def turns(messages: Sequence[Message]) -> tuple[int, ...]:
    """Where in a list the user's turns begin; turn 1 is the first."""
    return tuple(place for place, message in enumerate(messages) if message.get("role") == "user")


def forked(data: bytes, key: str, before: int, now: str) -> Fork:
    """The messages before a user's turn as a session of their own.

    The bytes of the messages stay. Run state and records of a provider stay behind. So do the summary of what was archived and
    the archive mark, where they tell of more than the fork holds: to archive again is allowed, to hide is not.

    Args:
        data: The session to fork.
        key: The new session's key.
        before: Number of the turn that is left out with all that follows, from 1; one more than there are keeps them all.
        now: ISO time.

    Raises:
        UsageError: There is no such turn, or nothing before it.
    """
    source = parse(data)
    stop = _stop(source, before)
    kept = parse(b"".join(line.record + b"\n" for line in _records_until(data, stop)))
    whole = stop == len(source.messages)
    covered = source.last_consolidated <= stop
    dropped = VOLATILE | (frozenset() if covered else {_SUMMARY}) | (frozenset() if whole else _GOALS)
    state = {name: value for name, value in source.state.items() if name not in dropped}
    metadata = {**source.metadata, "key": key, "created_at": now, "updated_at": now, "metadata": state}
    made = replace(
        kept,
        metadata=metadata,
        opaque=tuple(record for record in kept.opaque if record["_type"] != PROVIDER_STATE),
        last_consolidated=source.last_consolidated if covered else 0,
    )
    return Fork(render(made), len(made.messages))


def _stop(source: Session, before: int) -> int:
    """How many messages stand before a turn."""
    places = (*turns(source.messages), len(source.messages))
    if not 1 <= before <= len(places):
        number = len(places) - 1
        raise UsageError(
            f"there is no turn {before}: the conversation has {number}",
            f"Say 1 to {number}, or {number + 1} to keep them all.",
        )
    stop = places[before - 1]
    if not stop:
        raise UsageError("before the first turn there is nothing to fork", "Say --before 2 or more.")
    return stop


def _records_until(data: bytes, stop: int) -> Iterator[jsonl.Line]:
    """The records of a session file up to its message number `stop`; what cannot be read stays in the other file."""
    numbers = count()
    records = jsonl.parse(data).records
    return takewhile(lambda line: not _is_message(line) or next(numbers) < stop, records)


def _is_message(line: jsonl.Line) -> bool:
    return line.value is not None and line.value.get("_type") is None
