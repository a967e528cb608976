"""Random commit graphs, and what is true of them by definition."""

from collections.abc import Mapping

from hypothesis import strategies as st

Dag = Mapping[str, tuple[str, ...]]


@st.composite
def dags(draw: st.DrawFn, most: int = 14) -> Dag:
    """A random graph: each commit has up to two parents among the earlier ones. Names say nothing of their order."""
    size = draw(st.integers(2, most))
    names = draw(st.permutations([f"{number:02x}" for number in range(size)]))
    found: dict[str, tuple[str, ...]] = {}
    for place, name in enumerate(names):
        near = names[max(0, place - draw(st.integers(1, size))) : place]
        parents = draw(st.lists(st.sampled_from(near), max_size=2, unique=True)) if place else []
        found[name] = tuple(parents)
    return found


def reach(dag: Dag, *tips: str) -> set[str]:
    """Everything that can be reached from some commits, themselves included."""
    seen, pending = set(tips), list(tips)
    while pending:
        for parent in dag[pending.pop()]:
            if parent not in seen:
                seen.add(parent)
                pending.append(parent)
    return seen


def lowest(dag: Dag, ours: set[str], theirs: set[str]) -> set[str]:
    """The commits in both sets that no other commit in both descends from."""
    both = ours & theirs
    return {sha for sha in both if not any(sha != other and sha in reach(dag, other) for other in both)}


def ladder(rungs: int) -> Dag:
    """A criss-cross as high as history: two machines that always merge the same two commits and never the merges."""
    dag: dict[str, tuple[str, ...]] = {"root": (), "x0": ("root",), "y0": ("root",)}
    for rung in range(1, rungs):
        dag[f"x{rung}"] = dag[f"y{rung}"] = (f"x{rung - 1}", f"y{rung - 1}")
    return dag
