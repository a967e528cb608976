"""The base of a merge: that of the common ancestor, or of all of them merged by the same rules (R3)."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.base import Bases
from tests.core.merge.graphs import Dag, dags, ladder, lowest, reach
from tests.core.merge.versions import THOROUGH

Items = frozenset[str]


def merge(base: Items, ours: Items, theirs: Items) -> Items:
    """R1."""
    return (ours & theirs) | ((ours ^ theirs) - base)


def by_definition(dag: Dag, trees: Mapping[str, Items], ours: set[str], theirs: set[str]) -> Items:
    """R3 as it is written: ancestors sorted by name and folded, each fold with the base of what was folded so far."""
    commits = sorted(lowest(dag, ours, theirs))
    if not commits:
        return frozenset()
    merged, behind = trees[commits[0]], reach(dag, commits[0])
    for sha in commits[1:]:
        merged = merge(by_definition(dag, trees, behind, reach(dag, sha)), merged, trees[sha])
        behind |= reach(dag, sha)
    return merged


def bases_of(dag: Dag, trees: Mapping[str, Items]) -> Bases[Items]:
    return Bases(Graph(dag.__getitem__), trees.__getitem__, merge, frozenset())


@THOROUGH
@given(dags(10), st.data())
def test_the_base_is_as_the_rule_says_and_the_same_from_both_sides(dag: Dag, data: st.DataObject) -> None:
    """P2 for bases."""
    trees = {sha: data.draw(st.frozensets(st.sampled_from("xyz"))) for sha in sorted(dag)}
    one, other = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    bases = bases_of(dag, trees)
    assert bases.base(one, other) == by_definition(dag, trees, reach(dag, one), reach(dag, other))
    assert bases.base(one, other) == bases.base(other, one)


@THOROUGH
@given(dags(), st.data())
def test_what_was_put_in_once_is_there_until_somebody_takes_it_out(dag: Dag, data: st.DataObject) -> None:
    """P4 and P5: an item is in a commit just when that descends from who put it in, and from nobody who took it out."""
    added = data.draw(st.sampled_from([sha for sha in dag if len(dag[sha]) < 2]))
    knowing = sorted(sha for sha in dag if sha != added and added in reach(dag, sha) and len(dag[sha]) < 2)
    removals = data.draw(st.sets(st.sampled_from(knowing))) if knowing else set()
    trees: dict[str, Items] = {}
    bases = bases_of(dag, trees)
    for sha, parents in dag.items():
        old = merged(bases, trees, parents)
        trees[sha] = old - {"x"} if sha in removals else old | ({"x"} if sha == added else set())
        behind = reach(dag, sha)
        assert ("x" in trees[sha]) == (added in behind and not behind & removals)


def merged(bases: Bases[Items], trees: Mapping[str, Items], parents: tuple[str, ...]) -> Items:
    if len(parents) < 2:
        return trees[parents[0]] if parents else frozenset()
    first, second = parents
    return merge(bases.base(first, second), trees[first], trees[second])


def test_several_ancestors_are_merged_with_their_own_base() -> None:
    dag = {"root": (), "b1": ("root",), "b2": ("root",), "m1": ("b1", "b2"), "m2": ("b1", "b2")}
    trees = {
        "root": frozenset("x"),
        "b1": frozenset("xy"),
        "b2": frozenset("z"),
        "m1": frozenset(""),
        "m2": frozenset(""),
    }
    bases = bases_of(dag, trees)
    assert bases.base("m1", "m2") == {"y", "z"}
    assert bases.base("b1", "b2") == {"x"}


def test_unrelated_histories_start_from_nothing() -> None:
    assert (
        bases_of({"a": (), "b": ()}, {"a": frozenset("x"), "b": frozenset("x")}).base("a", "b") == frozenset()
    )


@pytest.mark.parametrize("rungs", [2, 3000])
def test_a_criss_cross_may_be_as_high_as_history(rungs: int) -> None:
    """P9: no depth of recursion ends a merge. Each base is made once."""
    dag = ladder(rungs)
    made: list[Items] = []

    def counted(base: Items, ours: Items, theirs: Items) -> Items:
        made.append(base)
        return merge(base, ours, theirs)

    empty: Items = frozenset()
    bases = Bases(Graph(dag.__getitem__), lambda sha: frozenset({sha[0]}), counted, empty)
    assert bases.base(f"x{rungs - 1}", f"y{rungs - 1}") == {"x", "y"}
    assert len(made) == rungs - 1
    bases.base(f"x{rungs - 1}", f"y{rungs - 1}")
    assert len(made) == rungs - 1
