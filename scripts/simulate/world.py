"""One run: machines that work, meet, lose each other, and in the end agree."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gitmem.core.merge.commits import Decision, last_real
from simulate.machine import Common, Machine
from simulate.merging import Merger
from simulate.operations import Operations
from simulate.oracle import Oracle
from simulate.store import Commit, Store

_MEETINGS = 0.22
"""How likely some machine syncs after an operation."""
_SPLITS = 0.05
"""How likely the network falls into other parts."""
_RACES = 0.3
"""How likely another machine pushes between a fetch and the push."""
_FAILURES = 0.05
"""How likely a push fails for another reason: the merge is installed all the same."""
_FIRST_STEPS = 6
_TRIES = 20


class Topology(StrEnum):
    """Who syncs with whom."""

    P2P = "p2p"
    """Any two machines, one way or both."""
    REMOTE = "remote"
    """Each with one remote."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is to be.

    Attributes:
        operations: How many.
        replicas: How many machines.
        seed: Of all chance.
        topology: Who syncs with whom.
        mix: Which operations are frequent.
        unrelated: Whether each machine begins with a history of its own.
    """

    operations: int = 300
    replicas: int = 3
    seed: int = 0
    topology: Topology = Topology.P2P
    mix: str = "usual"
    unrelated: bool = False


@dataclass(slots=True)
class Figures:
    """What came of one or more runs.

    Attributes:
        violations: What was found wrong, with the seed to repeat it.
        most_bases: The most common ancestors of one merge.
    """

    operations: int = 0
    runs: int = 0
    commits: int = 0
    merges: int = 0
    criss_cross: int = 0
    most_bases: int = 0
    lost_races: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        """Count another run in."""
        for name in ("operations", "runs", "commits", "merges", "criss_cross", "lost_races"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most_bases = max(self.most_bases, other.most_bases)
        self.violations += other.violations

    def __str__(self) -> str:
        return (
            f"{self.operations} operations, {self.runs} runs, {self.commits} commits, {self.merges} merges, "
            f"{self.criss_cross} criss-cross (up to {self.most_bases} bases), {self.lost_races} lost races, "
            f"{len(self.violations)} violations"
        )


class World:
    """The machines of a run."""

    def __init__(self, settings: Settings) -> None:
        chance = random.Random(settings.seed)
        store = Store()
        self._settings = settings
        self._common = Common(chance, store, Oracle(store), [], chance.choice((4, 8, 30)))
        self._merger = Merger(self._common)
        self._operations = Operations(settings.mix)
        self._machines = [Machine(self._common, number) for number in range(settings.replicas)]
        self._parts = [self._machines]
        self._remote: Commit | None = None
        self._lost = 0
        if not settings.unrelated:
            self._begin()

    def _begin(self) -> None:
        """One history that all machines share."""
        first, *others = self._machines
        while first.head is None:
            for _ in range(_FIRST_STEPS):
                self._operations.step(first)
            first.commit()
        for machine in others:
            machine.install(first.head)
        self._remote = first.head
        for machine in self._machines:
            machine.published = first.head.sha

    def run(self) -> Figures:
        """Let everything happen, then let all machines sync until they agree."""
        for _ in range(self._settings.operations):
            self._operations.step(self._common.random.choice(self._machines))
            if self._common.random.random() < _SPLITS:
                self._split()
            if self._common.random.random() < _MEETINGS:
                self._meet()
        self._finish()
        seed = self._settings.seed
        return Figures(
            self._settings.operations,
            1,
            len(self._common.store),
            self._merger.merges,
            self._merger.criss_cross,
            self._merger.most_bases,
            self._lost,
            [f"seed {seed}: {violation}" for violation in self._common.violations],
        )

    def _split(self) -> None:
        machines = list(self._machines)
        self._common.random.shuffle(machines)
        parts = self._common.random.randint(1, len(machines))
        self._parts = [machines[part::parts] for part in range(parts)]

    def _meet(self) -> None:
        if self._settings.topology is Topology.REMOTE:
            machine = self._common.random.choice(self._machines)
            if machine in self._parts[0]:
                self._sync_remote(machine, trouble=True)
            return
        part = self._common.random.choice(self._parts)
        if len(part) > 1:
            one, other = self._common.random.sample(part, 2)
            self._pull(one, other)
            if self._common.random.random() < 0.5:
                self._pull(other, one)

    def _pull(self, machine: Machine, other: Machine) -> None:
        """A machine takes what another one has."""
        machine.commit()
        other.commit()
        if other.head is None:
            return
        if machine.head is None:
            machine.install(other.head)
            return
        match self._merger.decide(machine.head, other.head):
            case Decision.FORWARD | Decision.ADOPT:
                machine.install(other.head)
            case Decision.MERGE:
                machine.install(self._merger.merge(machine.head, other.head))

    def _sync_remote(self, machine: Machine, *, trouble: bool = False) -> None:
        """One cycle with the remote: fetch, merge, push, install; again when another machine was faster (merge.md, section 5)."""
        machine.commit()
        for _ in range(_TRIES):
            seen = self._remote
            found = self._next(machine, seen)
            if found is None or found is seen:
                break
            if trouble and self._others_push(machine):
                self._lost += 1
                continue
            if trouble and self._common.random.random() < _FAILURES:
                machine.install(found)
                return
            self._remote = found
            break
        if self._remote is not None:
            machine.install(self._remote)
            machine.published = self._remote.sha

    def _next(self, machine: Machine, remote: Commit | None) -> Commit | None:
        """Where the remote and a machine are to be: merged from the machine's last real commit."""
        if remote is None or machine.head is None:
            return remote or machine.head
        store = self._common.store
        machine.published = remote.sha
        mine = store[last_real(store.graph, store.is_automatic, machine.head.sha, remote.sha)]
        match self._merger.decide(mine, remote):
            case Decision.PUSH:
                return mine
            case Decision.MERGE:
                return self._merger.merge(mine, remote)
            case _:
                return remote

    def _others_push(self, machine: Machine) -> bool:
        """Another machine may have pushed meanwhile; P11: a push is lost only to one that was not."""
        before = self._remote
        if self._common.random.random() < _RACES:
            self._sync_remote(self._common.random.choice([m for m in self._machines if m is not machine]))
        return self._remote is not before

    def _finish(self) -> None:
        """P1: all end with one commit. P10: soon, and then nobody says anything any more."""
        for machine in self._machines:
            machine.commit()
        before = self._merger.merges
        most = len(self._machines) ** 2 * 4
        for _ in range(most):
            self._sync_all()
            if self._agreed():
                break
        commits = len(self._common.store)
        self._sync_all()
        if not self._agreed():
            self._common.violations.append("machines did not agree")
        if len(self._common.store) != commits or self._merger.merges - before > most:
            self._common.violations.append("machines went on merging")
        if self._machines[0].head is not None:
            self._merger.check(self._machines[0].head)

    def _sync_all(self) -> None:
        if self._settings.topology is Topology.REMOTE:
            for machine in self._machines:
                self._sync_remote(machine)
            return
        for machine in self._common.random.sample(self._machines, len(self._machines)):
            for other in self._others(machine):
                self._pull(machine, other)

    def _others(self, machine: Machine) -> Sequence[Machine]:
        others = [other for other in self._machines if other is not machine]
        return self._common.random.sample(others, 1)

    def _agreed(self) -> bool:
        heads = {machine.head.sha for machine in self._machines if machine.head is not None}
        remote = self._remote if self._settings.topology is Topology.REMOTE else None
        return (
            len(heads) <= 1
            and all(m.head is not None or not heads for m in self._machines)
            and (remote is None or remote.sha in heads)
        )
