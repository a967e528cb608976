"""Merge commits, and when one is made."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import message
from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.commits import (
    VERSION,
    WHO,
    Decision,
    decide,
    is_automatic,
    last_real,
    merge_commit,
    rules_version,
)
from gitmem.core.model import CommitInfo, Kind
from tests.core.merge.graphs import Dag, dags, reach
from tests.core.merge.versions import THOROUGH

TEXT = merge_commit(("a", 5), ("b", 9)).message.decode()
AUTOMATIC = CommitInfo("m", ("a", "b"), WHO, 9, TEXT)


def test_two_machines_make_the_same_merge_commit() -> None:
    """P2 as a commit: nothing of the machine, the side or the moment is in it."""
    made = merge_commit(("a", 5), ("b", 9))
    assert made == merge_commit(("b", 9), ("a", 5))
    assert made.parents == ("a", "b")
    assert made.time == 9


def test_a_merge_commit_says_what_it_is_and_by_which_rules() -> None:
    assert TEXT.startswith("merge: two machines\n\n")
    assert message.parse(TEXT.encode()) == (
        Kind.MERGE,
        {"Gitmem-Kind": ("merge",), "Gitmem-Merge": (f"v{VERSION}",)},
    )
    assert rules_version(TEXT) == VERSION
    assert rules_version(TEXT.replace("v1", "v12")) == 12


@pytest.mark.parametrize("text", ["merge: two machines\n\nby hand\n", "x\n\nGitmem-Merge: v1\n", ""])
def test_other_commits_are_not_taken_for_automatic_merges(text: str) -> None:
    assert rules_version(text) is None
    assert not is_automatic(replace(AUTOMATIC, message=text), (5, 9))


def test_an_automatic_merge_that_somebody_amended_is_no_longer_one() -> None:
    assert is_automatic(AUTOMATIC, (5, 9))
    assert is_automatic(AUTOMATIC, (9, 5))
    assert not is_automatic(AUTOMATIC, (5, 8))
    assert not is_automatic(replace(AUTOMATIC, time=10), (5, 9))
    assert not is_automatic(replace(AUTOMATIC, author="me <me@home>"), (5, 9))
    assert not is_automatic(replace(AUTOMATIC, parents=("b", "a")), (5, 9))
    assert not is_automatic(replace(AUTOMATIC, parents=("a",)), (9,))
    assert not is_automatic(replace(AUTOMATIC, parents=()), ())


@THOROUGH
@given(dags(), st.data())
def test_a_decision_never_drops_a_real_commit_and_both_sides_agree(dag: Dag, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    automatic = {sha for sha in sorted(dag) if len(dag[sha]) == 2 and data.draw(st.booleans())}
    graph = Graph(dag.__getitem__)
    mine = decide(graph, automatic.__contains__, one, other)
    theirs = decide(graph, automatic.__contains__, other, one)
    ours_alone = reach(dag, one) - reach(dag, other)
    match mine:
        case Decision.SAME:
            assert one == other
        case Decision.FORWARD:
            assert theirs is Decision.PUSH
            assert not ours_alone
        case Decision.PUSH:
            assert theirs is Decision.FORWARD
        case Decision.ADOPT:
            assert theirs in (Decision.KEEP, Decision.MERGE)
            assert ours_alone <= automatic
        case Decision.KEEP:
            assert theirs is Decision.ADOPT
            assert ours_alone <= automatic
        case Decision.MERGE:
            assert theirs in (Decision.ADOPT, Decision.MERGE)
            assert not ours_alone <= automatic


def test_a_real_commit_far_below_is_a_reason_to_merge() -> None:
    """P4: what a machine brought back from a long absence is not taken for merges only."""
    dag = {"r": (), "away": ("r",), "a1": ("r",), "a2": ("a1",), "both": ("a2", "away"), "here": ("a2",)}
    assert decide(Graph(dag.__getitem__), {"both"}.__contains__, "both", "here") is Decision.MERGE


@pytest.mark.parametrize(
    ("published", "wanted"),
    [("theirs", "mine"), ("mine", "theirs"), ("m", "m"), ("root", "m"), (None, "m")],
)
def test_a_merge_whose_push_was_lost_is_made_again_from_the_last_real_commit(
    published: str | None, wanted: str
) -> None:
    """P11. Two parents that no remote has are not told apart: nothing is dropped then."""
    dag = {"root": (), "mine": ("root",), "theirs": ("root",), "m": ("mine", "theirs")}
    assert last_real(Graph(dag.__getitem__), {"m"}.__contains__, "m", published) == wanted


class Ring:
    """Machines that all pull from their neighbour at the same moment, over and over (merge.md, section 3, ping-pong)."""

    def __init__(self, machines: int) -> None:
        self._dag: dict[str, tuple[str, ...]] = {"root": ()}
        self._automatic: set[str] = set()
        self._names = count()
        self.heads = [self._commit(("root",), f"machine {number}") for number in range(machines)]
        self.merges = 0

    def _commit(self, parents: tuple[str, ...], name: str) -> str:
        self._dag[name] = parents
        return name

    def pull(self) -> None:
        """One round."""
        graph = Graph(self._dag.__getitem__)
        before = self.heads
        self.heads = [self._pulled(graph, tip, before[place - 1]) for place, tip in enumerate(before)]

    def _pulled(self, graph: Graph, ours: str, theirs: str) -> str:
        match decide(graph, self._automatic.__contains__, ours, theirs):
            case Decision.ADOPT | Decision.FORWARD:
                return theirs
            case Decision.MERGE:
                name = f"merge {sorted((ours, theirs))}"
                self.merges += name not in self._dag
                self._automatic.add(name)
                return self._commit((min(ours, theirs), max(ours, theirs)), name)
            case _:
                return ours


@pytest.mark.parametrize("machines", [2, 3, 4, 6])
def test_machines_that_pull_at_the_same_time_end_with_one_commit_and_stop(machines: int) -> None:
    """P1 and P10."""
    ring = Ring(machines)
    for _ in range(4 * machines):
        ring.pull()
    assert len(set(ring.heads)) == 1
    merges = ring.merges
    ring.pull()
    assert ring.merges == merges
