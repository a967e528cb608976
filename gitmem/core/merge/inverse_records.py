"""Taking a commit's change out of sessions and of the history queue, record by record (gitstore, section 6)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from gitmem.core import history, jsonl, session
from gitmem.core.conversation import Message, blocks, declared, is_legal, results_by_call
from gitmem.core.merge import members
from gitmem.core.merge.history import entry_identity
from gitmem.core.merge.metadata import Head, finished, head_of, without_change
from gitmem.core.merge.records import Reader, Record, joined
from gitmem.core.merge.rules import Numbered, pick_flag
from gitmem.core.merge.takeback import CannotUndoError, Clash, align, take_back

_Key: TypeAlias = Numbered[Record]
_Marks: TypeAlias = Mapping[_Key, bool]
_CHANGED = "later changes touch the same records"


def undo_session(commit: bytes, now: bytes, before: bytes) -> bytes:
    """The session without the commit's change: messages record by record, metadata field by field.

    Raises:
        CannotUndoError: A message, or what is archived, was changed again since.
    """
    reader = Reader()
    mid, present, old = (_read(reader, data) for data in (commit, now, before))
    versions = align(mid.records, present.records, old.records)
    taken = take_back(versions)
    _refuse(taken.clashes)
    if is_legal(_messages(present.records)) and not is_legal(_messages(taken.items)):
        raise CannotUndoError("calls and results of tools would be torn apart; revert the later commit first")
    marks = [
        {key: flag for key, flag in zip(keys, side.archived, strict=True) if flag is not None}
        for keys, side in ((versions.commit, mid), (versions.now, present), (versions.before, old))
    ]
    mark = _mark(taken.keys, *marks)
    if not any(_splits_turn(side.records, side.archived.count(True)) for side in (present, old)):
        mark -= _splits_turn(taken.items, mark)
    line = finished(without_change(mid.head, present.head, old.head), mark)
    if taken.items == present.records and line == finished(present.head, present.archived.count(True)):
        return now
    return (b"" if line is None else line + b"\n") + joined(taken.items)


@dataclass(frozen=True, slots=True)
class _Session:
    """A session: its metadata, everything else, and whether that is archived (None where it is no message)."""

    head: Head
    records: list[Record]
    archived: list[bool | None]


def _read(reader: Reader, data: bytes) -> _Session:
    parsed = session.parse(data)
    heads: list[bytes] = []
    records: list[Record] = []
    archived: list[bool | None] = []
    seen = 0
    for record in reader.records(parsed.origin.lines):
        if record.value.get("_type") == session.METADATA:
            heads.append(record.raw)
            continue
        records.append(record)
        archived.append(seen < parsed.last_consolidated if _is_message(record) else None)
        seen += _is_message(record)
    return _Session(head_of(heads), records, archived)


def _is_message(record: Record) -> bool:
    return record.readable and record.value.get("_type") is None


def _messages(records: Iterable[Record]) -> list[Message]:
    return [record.value for record in records if _is_message(record)]


def _mark(keys: Sequence[_Key], commit: _Marks, now: _Marks, before: _Marks) -> int:
    """How many leading messages are archived without the commit.

    A message that returns in front of archived ones ends the count there: to summarise again is allowed, to hide is not. A later
    consolidation stands in the way, since its summary would speak of messages that count as new again.
    """
    moved = {key for key in commit.keys() & before.keys() if commit[key] != before[key]}
    if not moved <= now.keys():
        raise CannotUndoError("messages that it archived were dropped since; revert the later commit first")
    flags = [
        pick_flag(commit.get(key, False), now[key], before[key])
        if key in now and key in before
        else (now if key in now else before)[key]
        for key in keys
        if key in now or key in before
    ]
    mark = flags.index(False) if False in flags else len(flags)
    if moved and any(flags[mark:]):
        raise CannotUndoError("more messages were archived since; revert the later commit first")
    return mark


def _splits_turn(records: Iterable[Record], mark: int) -> int:
    """By how much a mark has to go back so that it stands behind no call whose results it leaves out, or that has none yet.

    What is archived in part counts as new for a merge, and an agent would be shown results without their call.
    """
    last = blocks(_messages(records)[:mark])[-1:]
    return sum(
        1 + len(block.results)
        for block in last
        if len(results_by_call(block.head, block.results)) < len(declared(block.head))
    )


def undo_queue(commit: bytes, now: bytes, before: bytes) -> bytes:
    """The history file without the commit's change: entries are the same whatever their number.

    Raises:
        CannotUndoError: An entry was changed since, or a number that would return is in use again.
    """
    reader = Reader(entry_identity)
    mid, present, old = (reader.records(jsonl.parse(data).lines) for data in (commit, now, before))
    versions = align(mid, present, old)
    taken = take_back(versions)
    _refuse(taken.clashes)
    sides = [{key: key[0].raw for key in keys} for keys in (versions.commit, versions.now, versions.before)]
    lines = [_fields(key, *sides) for key in taken.keys]
    if lines == [record.raw for record in present]:
        return now
    data = b"".join(line + b"\n" for line in lines)
    if not _rising(data) and _rising(now):
        raise CannotUndoError("numbers of entries that would return are in use again")
    return data


def _fields(
    key: _Key, commit: Mapping[_Key, bytes], now: Mapping[_Key, bytes], before: Mapping[_Key, bytes]
) -> bytes:
    """An entry with the commit's change to its other fields taken out; its number stays."""
    if not (key in commit and key in now and key in before) or commit[key] == before[key]:
        return now.get(key) or before[key]
    mid, present, old = (members.read(side[key]) for side in (commit, now, before))
    fields = members.merge(mid, present, old, tie=lambda here, _: here)
    if "cursor" in present:
        fields["cursor"] = present["cursor"]
    return members.write(now[key], fields.values())


def _rising(data: bytes) -> bool:
    numbers = [entry.cursor for entry in history.parse(data).entries]
    return all(one < other for one, other in pairwise(numbers))


def undo_lines(commit: bytes, now: bytes, before: bytes) -> bytes:
    """A JSON Lines file of an unknown kind without the commit's change; lines are items.

    Raises:
        CannotUndoError: A line of the commit was changed since.
    """
    taken = take_back(align(commit.split(b"\n"), now.split(b"\n"), before.split(b"\n")))
    if taken.clashes:
        raise CannotUndoError(_CHANGED, taken.clashes)
    return b"\n".join(taken.items)


def _refuse(clashes: Sequence[Clash[Record]]) -> None:
    if clashes:
        raise CannotUndoError(_CHANGED, [clash.map(lambda record: record.raw) for clash in clashes])
