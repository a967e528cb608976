"""The small change of commit messages: counts, ranges, names of limited width."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitmem.core.message import shortened

NAMED = 3
"""Things named in a subject; more are counted."""
LISTED = 30
"""Things listed in a body; more are counted."""
_ROLES = ("user", "assistant", "tool", "system")


def short_key(key: str) -> str:
    """A session's key in a subject."""
    return shortened(key, 48)


def short_path(path: str) -> str:
    """A path in a subject."""
    return shortened(path, 60)


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 message`, `2 messages`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def more(number: int) -> list[str]:
    """The line under a list that was cut."""
    return [f"and {number - LISTED} more"] if number > LISTED else []


def span(low: int, high: int) -> str:
    """`17`, or `14..17`."""
    return str(low) if low == high else f"{low}..{high}"


def spans(numbers: Iterable[int]) -> str:
    """Numbers in short: `17`, `14..17`, or `14..16,19`."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(span(low, high) for low, high in runs)


def roles(messages: Sequence[Mapping[str, Any]]) -> str:
    """Who spoke: `user, assistant`, or `1 user, 2 assistant, 3 tool` where there are many."""
    names = [_role(message) for message in messages]
    if len(names) <= NAMED:
        return ", ".join(names)
    return ", ".join(f"{number} {role}" for role, number in Counter(names).items())


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    if isinstance(role, str) and role in _ROLES:
        return role
    return "other" if message else "unreadable"
