"""What agents do to the history queue."""

from gitmem.core import history
from gitmem.core.history import Entry
from simulate import documents
from simulate.facts import tokens
from simulate.machine import Dream, Machine
from simulate.store import QUEUE

_HISTORY, _CURSOR, _DREAMED = QUEUE


def append(machine: Machine) -> None:
    """One more entry."""
    data = machine.read(_HISTORY) or b""
    cursor = history.next_cursor(data, machine.read(_CURSOR))
    minute = machine.now()[:16].replace("T", " ")
    key = "cli" if machine.random.random() < 0.5 else None
    machine.write(_HISTORY, history.append(data, cursor, minute, f"- [durable] {machine.token()}", key))
    machine.write(_CURSOR, b"%d" % cursor)


def dream(machine: Machine) -> None:
    """Begin a Dream, or end the one under way; between the two, merges come in."""
    if machine.dream is None:
        _begin(machine)
    if machine.random.random() < 0.6:
        _end(machine)


def _begin(machine: Machine) -> None:
    waiting = history.after(history.parse(machine.read(_HISTORY) or b""), _dreamed(machine))
    batch = waiting[: machine.random.choice((2, 5, 20))]
    if batch:
        machine.dream = Dream(batch[-1].cursor, _named(batch) | _named(_processed(machine)))


def _end(machine: Machine) -> None:
    """Write the number that was found at the beginning, whatever has come in since (merge.md, section 0, point 6)."""
    ended, machine.dream = machine.dream, None
    if ended is None:
        return
    for _ in range(machine.random.randrange(4)):
        documents.edit(machine, documents.MEMORY)
    known = ended.taken | _named(_processed(machine))
    machine.write(_DREAMED, b"%d" % ended.last)
    machine.common.violations.extend(
        f"skipped by a Dream under way ~{token}~"
        for token in sorted(_named(_processed(machine)) - known)
        if not machine.common.oracle.may_be_processed(token, machine.head)
    )
    compact(machine)


def _named(entries: tuple[Entry, ...]) -> frozenset[int]:
    return frozenset(token for entry in entries for token in tokens(entry.content.encode()))


def _processed(machine: Machine) -> tuple[Entry, ...]:
    dreamed = _dreamed(machine)
    entries = history.parse(machine.read(_HISTORY) or b"").entries
    return tuple(entry for entry in entries if entry.cursor <= dreamed)


def _dreamed(machine: Machine) -> int:
    return history.parse_cursor(machine.read(_DREAMED)) or 0


def compact(machine: Machine) -> None:
    """Drop the oldest processed entries."""
    data = machine.read(_HISTORY)
    if data is not None:
        machine.write(_HISTORY, history.compact(data, _dreamed(machine), machine.common.keep))


def again(machine: Machine) -> None:
    """Set Dream back, so that it takes some entries again."""
    dreamed = _dreamed(machine)
    if dreamed and machine.dream is None:
        machine.write(_DREAMED, b"%d" % max(0, dreamed - machine.random.randrange(1, 4)))
