"""Three versions of one JSON object, member by member, as text: what nobody changed keeps its spelling, digit for digit (B69)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gitmem.core import jsonl
from gitmem.core.merge.rules import pick


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object, as it was written.

    Attributes:
        name: Its name, decoded.
        label: The text of its name up to the value, with the colon.
        text: The text of its value.
        value: A spelling of the value that is the same for equal values.
    """

    name: str
    label: bytes
    text: bytes
    value: bytes

    @property
    def spelled(self) -> bytes:
        """The whole member as text."""
        return self.label + self.text


Members: TypeAlias = Mapping[str, Member]
Tie: TypeAlias = Callable[[Member, Member], Member]


def read(raw: bytes) -> dict[str, Member]:
    """The members of the first object in a text, the last one of each name; none where there is no object."""
    try:
        found = jsonl.members(raw)
    except ValueError:
        return {}
    members: dict[str, Member] = {}
    for place in found:
        text = raw[place.value_start : place.end]
        label = raw[place.start : place.value_start]
        members[place.name] = Member(place.name, label, text, _canonical(text))
    return members


def member(name: str, text: bytes) -> Member:
    """A new member, spelled as the agents do."""
    return Member(name, jsonl.dump(name) + b": ", text, _canonical(text))


def _canonical(text: bytes) -> bytes:
    """The value as canonical JSON; its own text where it cannot be read, for instance for its depth."""
    holder = jsonl.decode(b'{"v":' + text + b"}")
    return text if holder is None else jsonl.canonical(holder["v"])


def merge(base: Members, ours: Members, theirs: Members, tie: Tie) -> dict[str, Member]:
    """The members of both sides: a changed one wins over one that is as it was, and a set one over a removed one.

    Args:
        base: The members before.
        ours: Our members; names that only they have come in their order before those of `theirs`.
        theirs: The other members.
        tie: Decides between two values where both sides changed one; symmetric.
    """
    merged: dict[str, Member] = {}
    for name in (*ours, *(name for name in theirs if name not in ours)):
        chosen = merge_member(base.get(name), ours.get(name), theirs.get(name), tie)
        if chosen is not None:
            merged[name] = chosen
    return merged


def merge_member(base: Member | None, ours: Member | None, theirs: Member | None, tie: Tie) -> Member | None:
    """One member of `merge`. Equal values keep the spelling of the side that changed it."""
    before, mine, other = (found.value if found else None for found in (base, ours, theirs))
    if before in (mine, other) and mine != other:
        return theirs if before == mine else ours
    if ours is None or theirs is None:
        return ours or theirs
    if mine == other:
        return pick(base, ours, theirs, smaller)
    return tie(ours, theirs)


def smaller(one: Member, other: Member) -> Member:
    """The tie where nothing says which value is better."""
    return min(one, other, key=lambda found: found.spelled)


def write(frame: bytes, members: Iterable[Member]) -> bytes:
    """An object with these members, in the order and with the spacing of another one.

    Args:
        frame: The text of a well-formed object; what stands before its `{` and behind its `}` is kept.
        members: The members to write; those that `frame` does not name come last.
    """
    wanted = {member.name: member for member in members}
    places = jsonl.members(frame)
    if not places:
        start = frame.index(b"{") + 1
        return frame[:start] + b", ".join(member.spelled for member in wanted.values()) + frame[start:]
    tight = frame[: places[0].value_start].endswith(b":")
    comma = frame[places[0].end : places[1].start] if len(places) > 1 else b"," if tight else b", "
    order = dict.fromkeys(place.name for place in places)
    named = [wanted.pop(name) for name in order if name in wanted]
    text = comma.join(member.spelled for member in (*named, *wanted.values()))
    return frame[: places[0].start] + text + frame[places[-1].end :]
