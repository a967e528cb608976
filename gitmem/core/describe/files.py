"""What happened to files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gitmem.core import guard
from gitmem.core.describe.words import LISTED, NAMED, count, more, short_path
from gitmem.core.filedelta import FileDelta, file_delta
from gitmem.core.message import shortened
from gitmem.core.model import Change, Kind, Message, PathClass, TreePath

_NAME_WIDTH = 30


def edits(changes: Sequence[Change], renames: Mapping[TreePath, TreePath]) -> Message:
    """Long-term files, attachments or others changed otherwise.

    Args:
        changes: At least one file that exists; others may have been removed.
        renames: New name -> old name of those that only moved.
    """
    body = (*(file_lines(changes, renames) if len(changes) > 1 else ()), *attention(changes))
    deltas = [file_delta(change) for change in changes]
    match deltas:
        case [one]:
            subject = f"edit({short_path(one.path)}): {_told(one, renames)}"
        case _ if len(deltas) <= NAMED:
            subject = f"edit: {', '.join(named(delta) for delta in deltas)}"
        case _:
            added, gone = sum(delta.added for delta in deltas), sum(delta.removed for delta in deltas)
            absent = sum(change.new is None for change in changes)
            removed = f" ({absent} removed)" if absent else ""
            subject = f"edit: {len(deltas)} files{removed}, +{added} -{gone}"
    return Message(Kind.EDIT, subject, body)


def removed(changes: Sequence[Change]) -> Message:
    """Files were removed; at least one."""
    lines = sum(file_delta(change).removed for change in changes)
    if len(changes) == 1:
        subject = f"delete({short_path(changes[0].path)}): {count(lines, 'line')}"
        return Message(Kind.DELETE, subject, tuple(attention(changes)))
    body = [change.path for change in changes[:LISTED]]
    subject = f"delete: {len(changes)} files, {count(lines, 'line')}"
    return Message(Kind.DELETE, subject, (*body, *more(len(changes)), *attention(changes)))


def first(number: int, classes: Iterable[PathClass], agent: str) -> Message:
    """The commit that takes everything under history.

    Args:
        number: How many files there are.
        classes: The class of each, as far as it is known.
        agent: Whose workspace it is.
    """
    counted = ", ".join(f"{many} {kind}" for kind, many in sorted(Counter(classes).items()))
    subject = f"init: track {count(number, 'file')} of a {agent} workspace"
    return Message(Kind.INIT, subject, (counted,) if counted else ())


def attention(changes: Iterable[Change]) -> list[str]:
    """What the guards say about changes of long-term files, as lines of a body."""
    found = [finding for change in changes for finding in guard.findings(change)]
    return [f"{guard.ATTENTION}: {finding.path}: {finding.text}" for finding in found]


def file_lines(changes: Sequence[Change], renames: Mapping[TreePath, TreePath] | None = None) -> list[str]:
    """One line a file, for a body."""
    lines = [f"{delta.path}: {_told(delta, renames or {})}" for delta in map(file_delta, changes[:LISTED])]
    return [*lines, *more(len(changes))]


def _told(delta: FileDelta, renames: Mapping[TreePath, TreePath]) -> str:
    old = renames.get(delta.path)
    return delta.told() if old is None else f"renamed from {short_path(old)}"


def named(delta: FileDelta) -> str:
    """A file among several in a subject: by its name alone where that says enough."""
    name = delta.path if delta.path.startswith("skills/") else delta.path.rpartition("/")[2]
    return f"{shortened(name, _NAME_WIDTH)} {delta.told().replace(', ', ' ')}"
