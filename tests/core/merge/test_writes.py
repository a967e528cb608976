"""Who wrote a path later, by the commits alone."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge.ancestry import Graph
from gitmem.core.merge.base import Bases
from gitmem.core.merge.conflict import digest
from gitmem.core.merge.tree import Tree, applied, merge_tree
from gitmem.core.merge.writes import Writes
from gitmem.core.model import File, TreePath
from gitmem.core.paths import classify_path
from tests.core.merge.graphs import Dag, dags, reach
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


class Shared:
    """A file that cannot be merged, replaced on some machines and merged on others."""

    def __init__(self, dag: Dag) -> None:
        self.times: dict[str, int] = {}
        self.trees: dict[str, Tree] = {}
        self._dag = dag
        self._writes = Writes(Graph(dag.__getitem__), self._content, self.times.__getitem__)
        self._bases: Bases[Version] = Bases(
            self._writes.graph, lambda sha: (self.trees[sha], (sha,)), self._merged_base, ({}, ())
        )

    def _content(self, sha: str, path: TreePath) -> bytes:
        return self.trees[sha][path].data

    def _merged_base(self, base: Version, ours: Version, theirs: Version) -> Version:
        return self._merged(base[0], ours, theirs, record=False), ours[1] + theirs[1]

    def _merged(self, base: Tree, ours: Version, theirs: Version, *, record: bool) -> Tree:
        newer = self._writes.newer(ours[1], theirs[1])
        result = merge_tree(classify_path, base, ours[0], theirs[0], newer=newer, record=record)
        return applied(ours[0], result.files)

    def merge(self, sha: str) -> None:
        ours, theirs = ((self.trees[parent], (parent,)) for parent in self._dag[sha])
        self.times[sha] = self._before(sha)
        self.trees[sha] = self._merged(self._bases.base(*self._dag[sha])[0], ours, theirs, record=True)

    def write(self, sha: str, time: int) -> None:
        """Replace the file; the time counts if it is not before that of the parent, and is one of its own."""
        self.times[sha] = max(self._before(sha), time) + 1
        old = self.trees[self._dag[sha][0]] if self._dag[sha] else {}
        self.trees[sha] = {**old, PATH: File(b"\0" + sha.encode())}

    def _before(self, sha: str) -> int:
        return max((self.times[parent] for parent in self._dag[sha]), default=0)


@THOROUGH
@given(dags(), st.data())
def test_the_last_version_of_each_machine_is_kept_and_a_replaced_one_never_comes_back(
    dag: Dag, data: st.DataObject
) -> None:
    """P4 and P5 for whole files, found by the simulator: the latest is at the path, what nobody replaced in copies."""
    shared = Shared(dag)
    writes: set[str] = set()
    for number, (sha, parents) in enumerate(dag.items()):
        if len(parents) == 2:
            shared.merge(sha)
        else:
            shared.write(sha, data.draw(st.integers(0, 5)) * 1000 + number)
            writes.add(sha)
        known = reach(dag, sha) & writes
        last = {one for one in known if not any(one != other and one in reach(dag, other) for other in known)}
        latest = max(known, key=lambda one: (shared.times[one], digest(b"\0" + one.encode())))
        assert shared.trees[sha][PATH].data == b"\0" + latest.encode()
        assert {b"\0" + one.encode() for one in last} <= {file.data for file in shared.trees[sha].values()}
