"""Ancestry and what is left to send, on graphs of any shape and with clocks that lie."""

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import reach


@dataclass
class Graph:
    """Commits by name: time and parents."""

    commits: Mapping[str, tuple[int, tuple[str, ...]]]
    looked: int = 0

    def node(self, name: str) -> tuple[int, tuple[str, ...]]:
        self.looked += 1
        return self.commits[name]

    def closure(self, *names: str) -> set[str]:
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += self.commits[name][1]
        return found


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to 14 commits with any times and up to three earlier parents each."""
    count = draw(st.integers(1, 14))
    commits: dict[str, tuple[int, tuple[str, ...]]] = {}
    for number in range(count):
        parents = draw(st.sets(st.sampled_from(sorted(commits)), max_size=3)) if commits else set()
        commits[f"c{number:02}"] = (draw(st.integers(-50, 50)), tuple(sorted(parents)))
    return Graph(commits)


def line(length: int) -> Graph:
    """A history without branches, its clock running forward."""
    return Graph({str(n): (n, (str(n - 1),) if n else ()) for n in range(length)})


@given(graphs())
def test_ancestry_is_what_the_graph_says_whatever_the_clocks_say(graph: Graph) -> None:
    for old in graph.commits:
        for new in graph.commits:
            assert reach.is_ancestor(graph.node, old, new) == (old in graph.closure(new))


@given(graphs(), st.data())
def test_nothing_is_left_out_and_parents_come_first(graph: Graph, data: st.DataObject) -> None:
    names = st.lists(st.sampled_from(sorted(graph.commits)), max_size=3)
    wants, haves = data.draw(names), data.draw(names)
    order = reach.unsent(graph.node, wants, haves)
    assert len(order) == len(set(order))
    assert graph.closure(*wants) - graph.closure(*haves) <= set(order) <= graph.closure(*wants)
    had = graph.closure(*haves)
    for place, name in enumerate(order):
        assert all(parent in had or parent in order[:place] for parent in graph.commits[name][1])


def test_with_honest_clocks_nothing_is_sent_twice() -> None:
    graph = Graph({"a": (1, ()), "b": (2, ("a",)), "c": (3, ("a",)), "d": (4, ("b", "c")), "e": (5, ("c",))})
    assert set(reach.unsent(graph.node, ["d", "e"], ["c"])) == {"b", "d", "e"}


def test_commits_of_the_same_second_are_not_sent_twice() -> None:
    commits: dict[str, tuple[int, tuple[str, ...]]] = {"base": (7, ())}
    last = "base"
    for number in range(40):
        commits[f"s{number}"] = (7, ("base",))
        commits[f"m{number}"] = (7, (last, f"s{number}"))
        last = f"m{number}"
    graph = Graph(commits)
    assert reach.unsent(graph.node, ["m39"], ["m36"]) == ["s37", "m37", "s38", "m38", "s39", "m39"]
    assert reach.unsent(graph.node, ["m36"], ["m39"]) == []


def test_an_ancestor_younger_than_its_descendant_is_found() -> None:
    graph = Graph({"a": (100, ()), "b": (50, ("a",)), "c": (200, ("b",))})
    assert reach.is_ancestor(graph.node, "a", "c")
    assert reach.unsent(graph.node, ["c"], ["a"]) == ["b", "c"]


def test_cost_follows_what_is_new_not_the_length_of_history() -> None:
    graph = line(10_000)
    assert reach.unsent(graph.node, ["9999"], ["9996"]) == ["9997", "9998", "9999"]
    assert reach.is_ancestor(graph.node, "9996", "9999")
    assert graph.looked < 60


def test_a_long_history_is_no_matter_of_recursion() -> None:
    graph = line(20_000)
    assert len(reach.unsent(graph.node, ["19999"], [])) == 20_000
    assert not reach.is_ancestor(graph.node, "x", "19999")
