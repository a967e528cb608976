"""History entries that were compacted away since: git kept them (gitstore, section 5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gitmem.core import history
from gitmem.core.history import Entry
from gitmem.core.model import CommitInfo
from gitmem.edges import revisions
from gitmem.edges.repo import Repository
from gitmem.edges.versions import Versions

HISTORY = "memory/history.jsonl"

_Identity = tuple[str, str, str | None]
"""Time, text and session: what stays the same when a merge gives an entry another cursor."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """An entry that the queue no longer has.

    Attributes:
        entry: The entry as it was.
        commit: The commit that dropped it; None while that is not committed.
    """

    entry: Entry
    commit: CommitInfo | None


def dropped(repo: Repository, present: bytes) -> list[Dropped]:
    """Every entry that some commit has and the queue has no more, by cursor.

    Args:
        repo: The repository.
        present: The queue as it is on disk.
    """
    here = {_identity(entry) for entry in history.parse(present).entries}
    found: dict[_Identity, Dropped] = {}
    for item in _drops(repo, present):
        identity = _identity(item.entry)
        if identity not in here and (identity not in found or _is_merge(found[identity].commit)):
            found[identity] = item
    return sorted(found.values(), key=lambda item: item.entry.cursor)


def _drops(repo: Repository, present: bytes) -> Iterator[Dropped]:
    """Entries with the commits that dropped them, the newest first; merges name what the other side has dropped, too."""
    start = revisions.newest(repo)
    versions = Versions(repo, [HISTORY])

    @lru_cache(maxsize=4)
    def queue(sha: str) -> bytes:
        entry = versions.at(sha).get(HISTORY)
        return b"" if entry is None else repo.read(entry).data

    if start is not None:
        yield from (Dropped(entry, None) for entry in _missing(queue(start), present))
    for commit in repo.history(start):
        for parent in commit.parents:
            if versions.at(parent) != versions.at(commit.sha):
                for entry in _missing(queue(parent), queue(commit.sha)):
                    yield Dropped(entry, commit)


def _missing(old: bytes, new: bytes) -> tuple[Entry, ...]:
    """Entries of a queue that a later version of it lacks; only lines that differ are parsed."""
    if new.startswith(old):
        return ()
    there = set(new.split(b"\n"))
    return history.parse(b"\n".join(line for line in old.split(b"\n") if line not in there)).entries


def _identity(entry: Entry) -> _Identity:
    return entry.timestamp, entry.content, entry.session_key


def _is_merge(commit: CommitInfo | None) -> bool:
    return commit is not None and len(commit.parents) > 1
