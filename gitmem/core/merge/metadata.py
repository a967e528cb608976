"""The metadata line of a session, three-way by field (merge.md, section 2.1)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gitmem.core import jsonl
from gitmem.core.checkpoint import VOLATILE
from gitmem.core.merge.conflict import Conflict, ConflictKind, conflict
from gitmem.core.merge.members import Member, Members, member, merge, read, write
from gitmem.core.model import TreePath

_STATE = "metadata"
_MARK = "last_consolidated"
_TITLE, _BY_HAND = "title", "title_user_edited"
_OWN_RULE = frozenset({_STATE, _MARK, "created_at", "updated_at"})
_NOT_TOLD = frozenset({"_last_summary", _BY_HAND})
"""Fields that agents write by themselves all the time: that two values met is nothing to tell a person."""
_FALSE = (b"false", b"null", b"0", b'""')


@dataclass(frozen=True, slots=True)
class Head:
    """The metadata of one version of a session.

    Attributes:
        raw: Its last metadata line; empty where there is none.
        members: The fields of all its metadata lines; a later line wins.
    """

    raw: bytes = b""
    members: Members = field(default_factory=dict)

    @property
    def state(self) -> Members:
        """The fields of the inner object."""
        return read(self.members[_STATE].text) if self.has_state else {}

    @property
    def has_state(self) -> bool:
        """Whether the inner object is there and is one."""
        return _STATE in self.members and self.members[_STATE].text.startswith(b"{")


def head_of(lines: Iterable[bytes]) -> Head:
    """The metadata that some metadata lines make together."""
    head = Head()
    for raw in lines:
        head = Head(raw, {**head.members, **read(raw)})
    return head


def merge_heads(base: Head, ours: Head, theirs: Head, path: TreePath) -> tuple[Head, tuple[Conflict, ...]]:
    """The metadata of both sides; where both changed a field, the later save wins.

    `created_at` is the earlier, `updated_at` the later one; `last_consolidated` is for `finished` to set. Fields of the inner
    object are merged one by one, each value as a whole.
    """
    newer, older = sorted((ours, theirs), key=_saved, reverse=True)
    outer = _Fields(path, base.members, newer.members, older.members)
    merged = outer.merged()
    for name, choose in (("created_at", min), ("updated_at", max)):
        times = [
            side.members[name]
            for side in (newer, older)
            if name in side.members and _is_text(side.members[name])
        ]
        if times:
            merged[name] = choose(times, key=lambda time: (time.value, time.spelled))
    inner = _Fields(path, base.state, newer.state, older.state)
    if newer.has_state and older.has_state:
        state = newer.members[_STATE]
        merged[_STATE] = replace(state, text=write(state.text, inner.merged().values()))
    return Head(newer.raw or older.raw, merged), (*outer.conflicts, *inner.conflicts)


def _saved(head: Head) -> tuple[bytes, bytes, bytes]:
    """Which version is the later one; a total order, so that both machines see the same."""
    time = head.members.get("updated_at")
    said = jsonl.canonical(
        sorted((name, found.value.decode("latin-1")) for name, found in head.members.items())
    )
    return (time.value if time and _is_text(time) else b""), said, head.raw


def _is_text(found: Member) -> bool:
    return found.text.startswith(b'"')


class _Fields:
    """Merges the fields of one object and notes what it could not decide."""

    def __init__(self, path: TreePath, base: Members, newer: Members, older: Members) -> None:
        self._path = path
        self._versions = base, newer, older
        self.conflicts: list[Conflict] = []

    def merged(self) -> dict[str, Member]:
        return merge(*self._versions, tie=self._decide)

    def _decide(self, newer: Member, older: Member) -> Member:
        name = newer.name
        if name not in _OWN_RULE | _NOT_TOLD | VOLATILE:
            before = self._versions[0].get(name)
            values = (newer.spelled, older.spelled)
            told = conflict(self._path, ConflictKind.METADATA, before.spelled if before else None, values)
            self.conflicts.append(told)
        if name == _TITLE and not self._by_hand(1) and self._by_hand(2):
            return older
        return newer

    def _by_hand(self, version: int) -> bool:
        edited = self._versions[version].get(_BY_HAND)
        return edited is not None and edited.value not in _FALSE


def without_change(commit: Head, now: Head, before: Head) -> Head:
    """The present metadata with the commit's change taken out of it; a field that changed again since stays as it is now.

    Metadata that the commit made stays as well: messages that came later still need it.
    """
    if not before.raw:
        return now
    fields = merge(commit.members, now.members, before.members, tie=lambda here, _: here)
    if "updated_at" in now.members:
        fields["updated_at"] = now.members["updated_at"]
    if now.has_state:
        state = now.members[_STATE]
        inner = merge(commit.state, now.state, before.state, tie=lambda here, _: here)
        fields[_STATE] = replace(state, text=write(state.text, inner.values()))
    return Head(now.raw or before.raw, fields)


def finished(head: Head, mark: int) -> bytes | None:
    """The metadata line to write, without run state (merge.md, section 0).

    Args:
        head: What it shall say.
        mark: The number of leading messages that are archived.

    Returns:
        The line without LF; None where there is nothing to say.
    """
    if not head.raw and not mark:
        return None
    frame = head.raw or jsonl.dump({"_type": "metadata", _STATE: {}})
    members = dict(head.members or read(frame))
    if head.has_state and not VOLATILE.isdisjoint(head.state):
        kept = [found for name, found in head.state.items() if name not in VOLATILE]
        members[_STATE] = replace(members[_STATE], text=write(members[_STATE].text, kept))
    known = members.get(_MARK)
    new = member(_MARK, str(mark).encode())
    members[_MARK] = replace(known, text=new.text) if known and known.value != new.value else known or new
    return write(frame, members.values())
