"""Who wrote a path later, by the commits alone."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.base import Bases
from gitmem.core.merge.tree import Tree, applied, merge_tree
from gitmem.core.merge.writes import Writes
from gitmem.core.model import File
from gitmem.core.paths import classify_path
from tests.core.merge.graphs import Dag, dags
from tests.core.merge.versions import THOROUGH

PATH = "media/picture.bin"


def writes_of(dag: Dag, values: Mapping[str, object], times: Mapping[str, int]) -> Writes:
    return Writes(Graph(dag.__getitem__), lambda sha, _: values[sha], times.__getitem__)


def test_a_version_is_as_old_as_the_commit_that_made_it() -> None:
    dag = {"a": (), "b": ("a",), "c": ("b",), "d": ("a",), "m": ("c", "d")}
    values = {"a": 1, "b": 2, "c": 2, "d": 3, "m": 2}
    writes = writes_of(dag, values, {"a": 1, "b": 5, "c": 9, "d": 7, "m": 9})
    assert writes.written("m", PATH) == writes.written("c", PATH) == 5
    assert writes.newer(("c",), ("d",))(PATH) == -1
    assert writes.newer(("d",), ("c",))(PATH) == 1
    assert writes.newer(("c",), ("m",))(PATH) == 0


def test_of_several_that_made_the_same_the_newest_counts() -> None:
    dag = {"a": (), "b": (), "m": ("a", "b")}
    assert writes_of(dag, dict.fromkeys("abm", 1), {"a": 1, "b": 5, "m": 6}).written("m", PATH) == 5


def test_a_file_that_nobody_wrote_for_long_is_found_without_recursion() -> None:
    dag = {str(n): (str(n - 1),) if n else () for n in range(20_000)}
    assert writes_of(dag, dict.fromkeys(dag, 1), {sha: int(sha) for sha in dag}).written("19999", PATH) == 0


Version = tuple[Tree, tuple[str, ...]]


@THOROUGH
@given(dags(12), st.data())
def test_a_replaced_version_of_a_file_that_cannot_be_merged_never_comes_back(
    dag: Dag, data: st.DataObject
) -> None:
    """P5 for whole files, found by the simulator: the latest that was written is at the path, whatever was merged when."""
    times: dict[str, int] = {}
    trees: dict[str, Tree] = {}
    latest: dict[str, int] = {}
    writes = Writes(Graph(dag.__getitem__), lambda sha, path: trees[sha].get(path), times.__getitem__)

    def merged(base: Version, ours: Version, theirs: Version) -> Version:
        newer = writes.newer(ours[1], theirs[1])
        result = merge_tree(classify_path, base[0], ours[0], theirs[0], newer=newer, record=False)
        return applied(ours[0], result.files), ours[1] + theirs[1]

    bases: Bases[Version] = Bases(writes.graph, lambda sha: (trees[sha], (sha,)), merged, ({}, ()))
    for number, (sha, parents) in enumerate(dag.items()):
        before = max((times[parent] for parent in parents), default=0)
        if len(parents) == 2:
            one, other = parents
            sides = (trees[one], (one,)), (trees[other], (other,))
            times[sha] = before
            trees[sha] = merged(bases.base(one, other), *sides)[0]
            latest[sha] = max(latest[one], latest[other])
        else:
            times[sha] = latest[sha] = max(before, data.draw(st.integers(0, 5)) * 1000) + number + 1
            trees[sha] = {PATH: File(b"\0%d" % times[sha])}
        assert trees[sha][PATH].data == b"\0%d" % latest[sha]
