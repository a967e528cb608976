"""What must be in a merge, told from who did what before it: never from how the merge was made.

For each token the oracle knows the commits that wrote, removed and restored it, and those that changed its flags. A merge must
hold it if none of the commits behind it removed it, must not if one did, and anything is right where two machines disagreed: one
restored what the other, without knowing, removed too.

Exempt by definition (merge.md, section 4.1): what is in a file that was removed as a whole while somebody went on with it, a line
of a text of which two versions cannot be merged (one of them wins as a whole, section 2.5), what has lived under two names,
results that come after their call is gone, flags of what was restored, and a result that one machine took back while its call
stayed: where another machine has it, a real result beats none (section 2.1).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gitmem.core.model import PathClass, TreePath
from simulate.facts import Facts, by_path, facts, tokens
from simulate.store import QUEUE, Commit, Store, Tree, classify

_UNITS = (PathClass.SESSION, PathClass.HISTORY, PathClass.CURSOR)
"""Files whose removal removes what is in them, and nothing else."""

_Events = defaultdict[int, int]


class _Flag:
    """A flag of tokens: the commits that set it, and those that took it away."""

    def __init__(self) -> None:
        self.set: _Events = defaultdict(int)
        self.unset: _Events = defaultdict(int)

    def record(self, bit: int, before: set[int], after: set[int], there: Iterable[int]) -> None:
        for token in after - before:
            self.set[token] |= bit
        for token in (before - after) & set(there):
            self.unset[token] |= bit


class Oracle:
    """Told of every commit that a machine made of its own; asked about every merge."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written: _Events = defaultdict(int)
        self._removed: _Events = defaultdict(int)
        self._restored: _Events = defaultdict(int)
        self._excused: _Events = defaultdict(int)
        self._processed, self._archived = _Flag(), _Flag()
        self._chmod: dict[TreePath, list[int]] = {}
        self._homes: defaultdict[TreePath, set[int]] = defaultdict(set)
        self._home: dict[int, TreePath] = {}
        self._wandered: set[int] = set()
        self.calls: dict[int, int] = {}
        """The call that each result answers."""

    def record(self, commit: Commit) -> None:
        """Note what a machine's own commit did."""
        parents = commit.info.parents
        old: Tree = self._store[parents[0]].tree if parents else {}
        bit, before, after = commit.bit, facts(old), facts(commit.tree)
        for token in after.count.keys() - before.count.keys():
            events = self._restored if token in self._written else self._written
            events[token] |= bit
        for token in before.count.keys() - after.count.keys():
            self._removed[token] |= bit
        self._processed.record(bit, before.processed, after.processed, after.count)
        self._archived.record(bit, before.archived, after.archived, after.count)
        self._note_files(bit, old, commit.tree)
        self._note_modes(bit, old, commit.tree, before, after)

    def _note_files(self, bit: int, old: Tree, new: Tree) -> None:
        for path in old.keys() - new.keys():
            if classify(path) not in _UNITS:
                for token in self._homes[path]:
                    self._excused[token] |= bit
        replaced = [path for path in old.keys() & new.keys() if path.endswith(".txt")]
        for path in replaced:
            for token in set(tokens(old[path].data)) - set(tokens(new[path].data)):
                self._excused[token] |= bit
        changed = (path for path in new if new[path] is not old.get(path) and path not in QUEUE)
        for path, some in by_path(new, changed):
            self._homes[path].update(some)
            self._wandered.update(token for token in some if self._home.setdefault(token, path) != path)

    def _note_modes(self, bit: int, old: Tree, new: Tree, before: Facts, after: Facts) -> None:
        """Per path: the commits that made it, made it executable and not executable."""
        for path in old.keys() ^ new.keys():
            self._chmod.setdefault(path, [0, 0, 0])[0] |= bit
        for path in new:
            was, runs = path in before.executable, path in after.executable
            if was != runs:
                self._chmod.setdefault(path, [0, 0, 0])[1 if runs else 2] |= bit

    def may_be_processed(self, token: int, commit: Commit | None) -> bool:
        """Whether a Dream took an entry in a commit or before; or a revert brought it back, under the number that it had."""
        known = self._processed.set[token] | self._restored[token]
        return commit is not None and bool(known & commit.behind)

    def check(self, commit: Commit) -> Iterator[str]:
        """What is wrong with a commit, one short sentence each."""
        said = facts(commit.tree)
        yield from self._presence(commit.behind, said)
        yield from self._flags(commit.behind, said)
        yield from self._modes(commit, said)

    def _presence(self, behind: int, said: Facts) -> Iterator[str]:
        count = said.count
        for token, written in self._written.items():
            there = count[token]
            if not written & behind:
                if there:
                    yield f"ghost ~{token}~"
                continue
            excused = bool(self._excused[token] & behind) or token in self._wandered
            if there > 1 and not excused:
                yield f"twice ~{token}~"
            wanted = self._wanted(token, behind)
            if wanted is False and there and not excused and not count[self.calls.get(token, 0)]:
                yield f"resurrected ~{token}~"
            missing = wanted and not there and token not in said.copies
            if (
                missing
                and not self._orphan(token, behind)
                and not (self._removed[token] & behind and excused)
            ):
                yield f"lost ~{token}~"

    def _wanted(self, token: int, behind: int) -> bool | None:
        """Whether a token has to be there; None where both is right."""
        removed, restored = self._removed[token] & behind, self._restored[token] & behind
        if not removed:
            return True
        if not restored:
            return False
        return True if any(not removed & ~commit.behind for commit in self._commits(restored)) else None

    def _commits(self, bits: int) -> Iterator[Commit]:
        while bits:
            place = bits.bit_length() - 1
            bits &= ~(1 << place)
            yield self._store.order[place]

    def _orphan(self, token: int, behind: int) -> bool:
        """Whether it is the result of a call that was removed."""
        call = self.calls.get(token)
        return call is not None and bool(self._removed[call] & behind)

    def _flags(self, behind: int, said: Facts) -> Iterator[str]:
        for name, flag, marked in (
            ("processed", self._processed, said.processed),
            ("archived", self._archived, said.archived),
        ):
            for token in said.count:
                if token in self.calls or self._restored[token] & behind:
                    continue
                was_set, unset = flag.set[token] & behind, flag.unset[token] & behind
                if not was_set and token in marked:
                    yield f"{name} though nobody did ~{token}~"
                if was_set and not unset and token not in marked:
                    yield f"no longer {name} ~{token}~"

    def _modes(self, commit: Commit, said: Facts) -> Iterator[str]:
        for path, (changes, runs, stopped) in self._chmod.items():
            made = changes & commit.behind
            if path in commit.tree and not made & (made - 1):
                wanted = bool(runs & commit.behind)
                if not stopped & commit.behind and wanted != (path in said.executable):
                    yield f"mode of {path}"
