"""Where the facts of a long-term file come from: the commit that brought each, and the history entries that commit names.

Told by walking back from the newest commit, as blame does, but by facts instead of lines: a fact belongs to the commit whose
parents do not state it, or state it less often. Moving or reformatting it does not count.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gitmem.core import facts, history, provenance
from gitmem.core.facts import Fact
from gitmem.core.model import CommitInfo, TreePath
from gitmem.edges import tip
from gitmem.edges.opened import Opened
from gitmem.edges.repo import Repository
from gitmem.edges.trees import Entry
from gitmem.edges.versions import Versions

HISTORY = "memory/history.jsonl"

_Words = tuple[TreePath, str]
"""A file, and the words of a fact in it."""
_Pending = dict[_Words, list[int]]
"""Numbers of facts that wait for their origin; the same words may stand in a file several times."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A fact and where it comes from.

    Attributes:
        line: Its first line on disk, from 1.
        fact: Its text, without list mark.
        commit: The commit that brought it; None while it is not committed.
        cursors: The history entries it was made of, where that commit names them.
        sessions: The sessions those entries came from, as far as they say so.
    """

    line: int
    fact: str
    commit: CommitInfo | None
    cursors: tuple[int, ...] = ()
    sessions: tuple[str, ...] = ()


def origins(opened: Opened, path: TreePath) -> list[Origin]:
    """The origin of every fact that a file states on disk, in order; none where there is no such file."""
    return origins_of_all(opened, [path])[path]


def origins_of_all(opened: Opened, paths: Sequence[TreePath]) -> dict[TreePath, list[Origin]]:
    """As `origins`, for several files in one walk."""
    found = [(path, fact) for path in paths for fact in _on_disk(opened, path)]
    start = tip.current(opened).base
    brought = _brought(opened.repo, start, found)
    queues = _Queues(opened.repo, start)
    told: dict[TreePath, list[Origin]] = {path: [] for path in paths}
    for number, (path, fact) in enumerate(found):
        told[path].append(_origin(queues, path, fact, brought.get(number)))
    return told


def _on_disk(opened: Opened, path: TreePath) -> tuple[Fact, ...]:
    file = opened.read(path).file
    return () if file is None else facts.placed(file.data)


def _origin(queues: "_Queues", path: TreePath, fact: Fact, commit: CommitInfo | None) -> Origin:
    if commit is None:
        return Origin(fact.line, fact.text, None)
    named = provenance.sources(commit.trailers).get((path, provenance.fact_hash(fact.text)), ())
    return Origin(fact.line, fact.text, commit, named, queues.sessions(commit, named))


def _brought(
    repo: Repository, start: str | None, found: Sequence[tuple[TreePath, Fact]]
) -> dict[int, CommitInfo]:
    """The commit that brought each fact, by its number; without those that no commit has."""
    if start is None:
        return {}
    pending: _Pending = {}
    for number, (path, fact) in enumerate(found):
        pending.setdefault((path, fact.plain), []).append(number)
    past = _Past(repo, {path for path, _ in found})
    walk = _Walk(repo)
    walk.send(start, past.shared(pending, start))
    result: dict[int, CommitInfo] = {}
    while (step := walk.next()) is not None:
        commit, waiting = step
        for parent in commit.parents:
            walk.send(parent, past.same(waiting, commit.sha, parent))
        for parent in commit.parents:
            walk.send(parent, past.shared(waiting, parent))
        result |= {number: commit for numbers in waiting.values() for number in numbers}
    return result


class _Past:
    """Files as the commits have them, each version read once."""

    def __init__(self, repo: Repository, paths: Collection[TreePath]) -> None:
        self._entries = Versions(repo, paths)
        self._stated = lru_cache(maxsize=32)(lambda entry: _stated(repo, entry))

    def same(self, waiting: _Pending, sha: str, parent: str) -> _Pending:
        """Take out the facts of files that a commit has as its parent has them."""
        now, before = self._entries.at(sha), self._entries.at(parent)
        if now == before:
            taken = dict(waiting)
        else:
            equal = {path for path, _ in waiting if now.get(path) == before.get(path)}
            taken = {words: numbers for words, numbers in waiting.items() if words[0] in equal}
        for words in taken:
            del waiting[words]
        return taken

    def shared(self, waiting: _Pending, parent: str) -> _Pending:
        """Take out the facts that a commit states as well: of equal ones the first, as often as it states them."""
        before = self._entries.at(parent)
        taken: _Pending = {}
        for (path, words), numbers in list(waiting.items()):
            many = self._stated(before[path]).get(words, 0) if path in before else 0
            if many:
                taken[path, words] = numbers[:many]
                waiting[path, words] = numbers[many:]
                if not waiting[path, words]:
                    del waiting[path, words]
        return taken


def _stated(repo: Repository, entry: Entry) -> Mapping[str, int]:
    return Counter(fact.plain for fact in facts.placed(repo.read(entry).data))


@dataclass
class _Walk:
    """Commits to look at, the newest first, each with the facts that wait there."""

    repo: Repository
    _waiting: dict[str, _Pending] = field(default_factory=dict)
    _order: list[tuple[int, int, str]] = field(default_factory=list)
    _sent: int = 0

    def send(self, sha: str, pending: _Pending) -> None:
        """Have facts wait at a commit."""
        if not pending:
            return
        if sha not in self._waiting:
            self._sent += 1
            heapq.heappush(self._order, (-self.repo.info(sha).time, self._sent, sha))
            self._waiting[sha] = pending
            return
        waiting = self._waiting[sha]
        for words, numbers in pending.items():
            waiting[words] = sorted([*waiting.get(words, ()), *numbers])

    def next(self) -> tuple[CommitInfo, _Pending] | None:
        """The newest of them; None when no fact waits any more."""
        if not self._order:
            return None
        sha = heapq.heappop(self._order)[-1]
        return self.repo.info(sha), self._waiting.pop(sha)


class _Queues:
    """Which session a history entry came from, also one that was compacted away since."""

    def __init__(self, repo: Repository, newest: str | None) -> None:
        self._repo = repo
        self._newest = newest
        self._keys = lru_cache(maxsize=16)(self._read)

    def sessions(self, commit: CommitInfo, cursors: Sequence[int]) -> tuple[str, ...]:
        """The sessions of entries, as they were numbered when `commit` was made; each once."""
        if not cursors:
            return ()
        known: dict[int, str] = {}
        for sha in (self._newest, *commit.parents, commit.sha):
            known |= self._keys(None if sha is None else self._repo.entry(sha, HISTORY))
        return tuple(dict.fromkeys(known[cursor] for cursor in cursors if cursor in known))

    def _read(self, entry: Entry | None) -> dict[int, str]:
        if entry is None:
            return {}
        queue = history.parse(self._repo.read(entry).data)
        return {item.cursor: item.session_key for item in queue.entries if item.session_key is not None}
