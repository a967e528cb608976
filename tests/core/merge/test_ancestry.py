"""Common ancestors by the graph alone, compared with the definition on random graphs."""

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge.ancestry import Graph
from tests.core.merge.graphs import Dag, dags, ladder, lowest, reach
from tests.core.merge.versions import THOROUGH


@THOROUGH
@given(dags(), st.data())
def test_common_ancestors_are_the_lowest_that_both_reach(dag: Dag, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    graph = Graph(dag.__getitem__)
    common = graph.common_ancestors(one, other)
    assert common == tuple(sorted(lowest(dag, reach(dag, one), reach(dag, other))))
    assert common == graph.common_ancestors(other, one)


@THOROUGH
@given(dags(), st.data())
def test_who_has_what_is_told_from_the_graph(dag: Dag, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(sorted(dag))) for _ in range(2))
    graph = Graph(dag.__getitem__)
    assert graph.is_ancestor(one, other) == (one in reach(dag, other))
    assert graph.only_in(one, other) == reach(dag, one) - reach(dag, other)


@THOROUGH
@given(dags(), st.data())
def test_generations_rise_from_parent_to_child_whatever_is_asked_first(dag: Dag, data: st.DataObject) -> None:
    graph = Graph(dag.__getitem__)
    for sha in data.draw(st.permutations(sorted(dag))):
        assert graph.generation(sha) == 1 + max(map(graph.generation, dag[sha]), default=0)


def test_a_branch_from_far_below_the_common_ancestor_is_seen() -> None:
    """A machine that was away for long has a commit of a small generation; who merged it has something that is new elsewhere."""
    dag = {"r": (), "away": ("r",), "a1": ("r",), "a2": ("a1",), "both": ("a2", "away"), "here": ("a2",)}
    assert Graph(dag.__getitem__).only_in("both", "here") == {"both", "away"}


def test_a_root_of_its_own_that_one_side_merged_is_seen() -> None:
    dag = {"r": (), "a": ("r",), "joined": (), "tip": ("a", "joined"), "other": ("a",)}
    assert Graph(dag.__getitem__).only_in("tip", "other") == {"tip", "joined"}


def test_unrelated_histories_have_nothing_in_common() -> None:
    graph = Graph({"a": (), "b": ("a",), "c": (), "d": ("c",)}.__getitem__)
    assert graph.common_ancestors("b", "d") == ()
    assert graph.only_in("b", "d") == {"a", "b"}
    assert not graph.is_ancestor("a", "d")


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
    assert graph.only_in("a", "b") == {"a"}
    assert graph.is_ancestor(names[-1], "a")
    assert not graph.is_ancestor("a", "b")
    assert len(asked) < 40


def test_a_high_criss_cross_is_searched_one_rung_deep() -> None:
    dag = ladder(20_000)
    graph = Graph(dag.__getitem__)
    graph.generation("x19999")
    assert graph.common_ancestors("x19999", "y19999") == ("x19998", "y19998")
