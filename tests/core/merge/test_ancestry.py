"""Common ancestors by the graph alone, compared with the definition on random graphs."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.base import Bases
from gitmem.core.merge.commits import Decision, decide, merge_commit, rules_version

Dag = Mapping[str, tuple[str, ...]]


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    """A random graph: each commit has up to two parents among the earlier ones. Names say nothing of their order."""
    size = draw(st.integers(2, 14))
    names = draw(st.permutations([f"{number:02x}" for number in range(size)]))
    found: dict[str, tuple[str, ...]] = {}
    for place, name in enumerate(names):
        parents = draw(st.lists(st.sampled_from(names[:place]), max_size=2, unique=True)) if place else []
        found[name] = tuple(parents)
    return found


def reach(dag: Dag, tip: str) -> set[str]:
    seen, pending = {tip}, [tip]
    while pending:
        for parent in dag[pending.pop()]:
            if parent not in seen:
                seen.add(parent)
                pending.append(parent)
    return seen


@given(dags(), st.data())
def test_common_ancestors_are_the_lowest_that_both_reach(dag: Dag, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    graph = Graph(dag.__getitem__)
    both = reach(dag, one) & reach(dag, other)
    lowest = {sha for sha in both if not any(sha != b and sha in reach(dag, b) for b in both)}
    assert set(graph.common_ancestors(one, other)) == lowest
    assert graph.common_ancestors(one, other) == graph.common_ancestors(other, one)
    assert graph.is_ancestor(one, other) == (one in reach(dag, other))
    assert graph.only_in(one, other) == reach(dag, one) - reach(dag, other)


@given(dags(), st.data())
def test_a_decision_never_drops_a_real_commit_and_both_sides_agree(dag: Dag, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    automatic = {sha for sha, parents in dag.items() if len(parents) == 2 and data.draw(st.booleans())}
    graph = Graph(dag.__getitem__)
    mine = decide(graph, automatic.__contains__, one, other)
    theirs = decide(graph, automatic.__contains__, other, one)
    lost = {
        Decision.ADOPT: reach(dag, one) - reach(dag, other),
        Decision.FORWARD: reach(dag, one) - reach(dag, other),
    }
    assert lost.get(mine, set()) <= automatic
    assert (mine is Decision.MERGE) <= (theirs in (Decision.MERGE, Decision.ADOPT))
    assert (mine is Decision.SAME) == (theirs is Decision.SAME)
    assert {mine, theirs} != {Decision.ADOPT}


def test_long_histories_cost_what_is_new() -> None:
    names = [f"{number:08d}" for number in range(50_000)]
    dag = {name: (names[place - 1],) if place else () for place, name in enumerate(names)}
    dag |= {"a": (names[-1],), "b": (names[-1],)}
    asked: list[str] = []

    def parents(sha: str) -> tuple[str, ...]:
        asked.append(sha)
        return dag[sha]

    graph = Graph(parents)
    graph.generation(names[-1])
    asked.clear()
    assert graph.common_ancestors("a", "b") == (names[-1],)
    assert len(asked) < 30


def test_a_criss_cross_has_a_base_in_which_a_restored_item_is_there() -> None:
    """R3: the base of m1 and m2 is the merge of b1 and b2 with their own base; picking one of them loses `x`."""
    dag = {"root": (), "b1": ("root",), "b2": ("root",), "m1": ("b1", "b2"), "m2": ("b1", "b2")}
    trees: dict[str, set[str]] = {"root": {"x"}, "b1": {"x", "y"}, "b2": {"z"}, "m1": set(), "m2": set()}

    def merge(base: set[str], ours: set[str], theirs: set[str]) -> set[str]:
        return (ours & theirs) | ((ours ^ theirs) - base)

    bases: Bases[set[str]] = Bases(Graph(dag.__getitem__), trees.__getitem__, merge, set())
    assert bases.base("m1", "m2") == {"y", "z"}
    assert bases.base("b1", "b2") == {"x"}


def test_two_machines_make_the_same_merge_commit() -> None:
    assert merge_commit(("a", 5), ("b", 9)) == merge_commit(("b", 9), ("a", 5))
    made = merge_commit(("a", 5), ("b", 9))
    assert rules_version(made.message.decode()) == 1


@pytest.mark.parametrize("text", ["merge: two machines\n\nby hand\n", "x\n\nGitmem-Merge: v1\n", ""])
def test_other_commits_are_not_taken_for_automatic_merges(text: str) -> None:
    assert rules_version(text) is None
