"""A session as a list of atoms: the pieces that a merge keeps, drops or moves as a whole (merge.md, section 2.1).

An atom is a message, or an assistant message with the tool results directly behind it, so that calls and results stay together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from gitmem.core import jsonl
from gitmem.core.conversation import Message, declared, stub
from gitmem.core.merge.records import Record, made, pick_record
from gitmem.core.merge.rules import Numbered, numbered

AtomKey: TypeAlias = Numbered[str]

_INTERRUPTED = "Error: Task interrupted"
"""How the result that stands for a cut-off call begins, whichever agent wrote it."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece of a conversation.

    Attributes:
        head: Its first message; or a line that cannot be read, which is kept like any other.
        results: The tool results directly behind it.
        archived: Whether it lies in front of `last_consolidated`.
        calls: The tool calls it declares: id -> name of the tool.
    """

    head: Record
    results: tuple[Record, ...] = ()
    archived: bool = False
    calls: Mapping[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many messages it holds."""
        return 1 + len(self.results) if self.head.readable else 0

    @property
    def records(self) -> tuple[Record, ...]:
        """All its lines."""
        return (self.head, *self.results)

    @property
    def spelled(self) -> list[bytes]:
        """All its lines as bytes."""
        return [self.head.raw, *(result.raw for result in self.results)]

    @property
    def by_call(self) -> dict[str, Record]:
        """Its results by the id of their call."""
        return {str(result.value.get("tool_call_id")): result for result in self.results}


def atoms(records: Sequence[Record], mark: int, known: dict[bytes, str]) -> dict[AtomKey, Atom]:
    """Cut a session into atoms, in order.

    Args:
        records: Messages and lines that cannot be read.
        mark: How many leading messages are archived. An atom that is archived in part counts as not archived: to summarise
            again is allowed, to hide is not.
        known: Identities found so far, by line; filled for the versions that come after.

    Returns:
        The atoms by identity and the number among equal ones. A message is what all of it says; one that calls tools only what it
        says and calls: that survives a replay, which changes timestamps.
    """
    found = list(_cut(records, mark))
    return dict(zip(numbered(_identity(atom, known) for atom in found), found, strict=True))


def _identity(atom: Atom, known: dict[bytes, str]) -> str:
    if not atom.calls:
        return atom.head.identity
    name = known.get(atom.head.raw)
    if name is None:
        said = [atom.head.value.get("content") or "", atom.head.value.get("tool_calls")]
        name = known[atom.head.raw] = f"calls:{jsonl.identity(said)}"
    return name


def _cut(records: Sequence[Record], mark: int) -> Iterator[Atom]:
    at = seen = 0
    while at < len(records):
        head = records[at]
        calls = declared(head.value)
        end = at + 1
        waiting = set(calls)
        while end < len(records) and (answered := _answered(records[end])) in waiting:
            waiting.discard(str(answered))
            end += 1
        last = seen + (end - at if head.readable else 0)
        yield Atom(head, tuple(records[at + 1 : end]), archived=seen < mark and last <= mark, calls=calls)
        at, seen = end, last


def _answered(record: Record) -> str | None:
    call_id = record.value.get("tool_call_id") if record.value.get("role") == "tool" else None
    return call_id if isinstance(call_id, str) else None


def are_one(base: Atom | None, ours: Atom, theirs: Atom) -> bool:
    """Whether two atoms that say and call the same are one, and not two whose calls a provider gave the same ids.

    They are two where both sides have new, different, real results of a call.
    """
    if ours.results == theirs.results:
        return True
    before, others = base.by_call if base else {}, theirs.by_call
    return all(
        len({_content(result), _content(others[call])}) == 1
        or _cut_off(result.value)
        or _cut_off(others[call].value)
        or before.get(call) in (result, others[call])
        for call, result in ours.by_call.items()
        if call in others
    )


def _content(record: Record) -> bytes:
    return jsonl.canonical(record.value.get("content"))


def fold(base: Atom | None, ours: Atom, theirs: Atom) -> Atom:
    """Two versions of one atom become one: the head and each result three-way; a real result beats an interrupted one."""
    head = pick_record(base.head if base else None, ours.head, theirs.head, _better)
    calls = declared(head.value)
    before, mine, other = base.by_call if base else {}, ours.by_call, theirs.by_call
    order = list(mine) if list(mine) == list(other) else list(calls)
    results = (_result(before.get(call), mine.get(call), other.get(call)) for call in order)
    return Atom(head, tuple(result for result in results if result is not None), ours.archived, calls)


def _result(base: Record | None, ours: Record | None, theirs: Record | None) -> Record | None:
    if ours is None or theirs is None:
        return ours or theirs
    if _cut_off(ours.value) != _cut_off(theirs.value):
        return _better(ours, theirs)
    return pick_record(base, ours, theirs, _better)


def _better(one: Record, other: Record) -> Record:
    """Of two versions of a message: a real result, then the earlier, then the smaller text."""

    def worth(record: Record) -> tuple[bool, str, bytes, bytes]:
        time = str(record.value.get("timestamp", "~"))
        return _cut_off(record.value), time, jsonl.canonical(record.value), record.raw

    return min(one, other, key=worth)


def _cut_off(message: Message) -> bool:
    content = message.get("content")
    return isinstance(content, str) and content.startswith(_INTERRUPTED)


def completed(atom: Atom) -> Atom:
    """The atom with an interrupted result for every call that has none: nothing will answer it here any more."""
    answered = atom.by_call
    missing = {call: tool for call, tool in atom.calls.items() if call not in answered}
    if not missing:
        return atom
    time = {"timestamp": atom.head.value["timestamp"]} if "timestamp" in atom.head.value else {}
    stubs = tuple(made({**stub(call, tool), **time}) for call, tool in missing.items())
    return replace(atom, results=atom.results + stubs)
