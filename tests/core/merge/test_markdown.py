"""Markdown of two machines: each fact of either side is there once, what one removed is gone, and no marker is ever written."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.markdown import UnitKind, parse
from gitmem.core.merge.conflict import Conflict
from gitmem.core.merge.files import merge_file
from gitmem.core.model import PathClass
from tests.core.merge.versions import LINES, THOROUGH, TIDY, always_the_same, three_texts

PATH = "memory/MEMORY.md"
Version = bytes | None


def merge(base: Version, ours: Version, theirs: Version) -> tuple[Version, tuple[Conflict, ...]]:
    merged = merge_file(PathClass.MEMORY, PATH, base, ours, theirs)
    assert merged.loser is None
    return merged.data, merged.conflicts


def units(data: Version) -> Counter[tuple[UnitKind, bytes]]:
    return Counter((unit.kind, unit.text) for unit in parse(data or b"").units)


def lines(found: Counter[tuple[UnitKind, bytes]]) -> set[bytes]:
    return {line for _, text in found for line in text.split(b"\n")}


@THOROUGH
@given(three_texts(LINES | st.binary(max_size=6)))
def test_the_same_from_both_sides_and_nothing_to_do_twice(versions: tuple[Version, bytes, bytes]) -> None:
    always_the_same(merge, *versions, value=lambda found: found[0])


@THOROUGH
@given(three_texts(TIDY))
def test_additions_stay_removals_hold_and_nothing_is_doubled(versions: tuple[Version, bytes, bytes]) -> None:
    base, ours, theirs = (units(version) for version in versions)
    data, conflicts = merge(*versions)
    told = "\n".join(value for conflict in conflicts for value in conflict.values)
    result = units(data)
    for unit in base | ours | theirs:
        _, text = unit
        if not base[unit]:
            in_lines = set(text.split(b"\n")) <= lines(result) | lines(base)
            assert result[unit] or text.decode("utf-8", "backslashreplace") in told or in_lines, "lost"
        elif min(ours[unit], theirs[unit]) == 0 and max(ours[unit], theirs[unit]) <= base[unit]:
            assert not result[unit], "back"
        assert result[unit] <= max(ours[unit], theirs[unit]) or not (ours[unit] or theirs[unit]), "twice"


@THOROUGH
@given(three_texts(TIDY))
def test_units_stay_units(versions: tuple[Version, bytes, bytes]) -> None:
    """What was a unit on a side is one in the result: nothing runs into its neighbour."""
    data, _ = merge(*versions)
    sides = units(versions[1]) + units(versions[2])
    assert all(b"\n" in text for _, text in units(data) - sides)


def result(base: Version, ours: bytes, theirs: bytes) -> bytes:
    return always_the_same(merge, base, ours, theirs, value=lambda found: found[0])[0] or b""


def test_both_additions_stay_and_a_removal_holds() -> None:
    assert (
        result(b"# T\n\n- a\n- b\n", b"# T\n\n- a\n- b\n- c\n", b"# T\n\n- b\n- d\n")
        == b"# T\n\n- b\n- c\n- d\n"
    )


def test_a_fact_changed_on_both_machines_stays_in_both_versions_and_is_told() -> None:
    data, conflicts = merge(b"# T\n- a\n- z\n", b"# T\n- a1\n- z\n", b"# T\n- a2\n- z\n- y\n")
    assert data == b"# T\n- a1\n- a2\n- z\n- y\n"
    assert [(told.base, told.values) for told in conflicts] == [("- a", ("- a1", "- a2"))]


def test_of_two_new_headings_one_stays_and_the_other_is_told() -> None:
    data, conflicts = merge(b"# T\n\n- a\n", b"# T one\n\n- a\n", b"# T two\n\n- a\n")
    assert data == b"# T two\n\n- a\n"
    assert [told.values for told in conflicts] == [("# T one", "# T two")]


def test_of_two_front_matters_one_stays_but_different_lines_meet() -> None:
    base = b"---\nname: x\n\ndescription: y\n---\n# T\n"
    ours, theirs = base.replace(b"name: x", b"name: z"), base.replace(b"description: y", b"description: w")
    assert result(base, ours, theirs) == b"---\nname: z\n\ndescription: w\n---\n# T\n"
    data, conflicts = merge(None, b"---\nname: a\n---\nx\n", b"---\nname: b\n---\nx\n")
    assert data == b"---\nname: b\n---\nx\n"
    assert len(conflicts) == 1


def test_a_rule_at_the_start_never_becomes_front_matter() -> None:
    data = result(None, b"---\n", b"---\n  more\n")
    assert [unit.kind for unit in parse(data).units] == [UnitKind.PARAGRAPH, UnitKind.PARAGRAPH]


def test_different_lines_of_one_block_meet() -> None:
    base = b"```\na\nb\nc\n```\n"
    assert result(base, base.replace(b"a", b"A"), base.replace(b"c", b"C")) == b"```\nA\nb\nC\n```\n"


def test_a_fact_moved_by_one_machine_and_edited_by_the_other_is_not_doubled() -> None:
    base = b"# A\n- a\n- b\n# B\n- c\n"
    moved, edited = b"# A\n- b\n# B\n- c\n- a\n", b"# A\n- a!\n- b\n# B\n- c\n"
    data = result(base, moved, edited)
    assert (data.count(b"- a!\n"), data.count(b"- a\n")) == (1, 0)


def test_a_fact_moved_by_both_machines_is_there_once() -> None:
    base = b"- a\n- b\n- c\n- d\n"
    assert result(base, b"- b\n- a\n- c\n- d\n", b"- b\n- c\n- d\n- a\n").count(b"- a\n") == 1


def test_line_endings_are_merged_apart_from_the_text() -> None:
    base = b"# T\n- a\n"
    windows = base.replace(b"\n", b"\r\n")
    assert result(base, windows, b"# T\n- a\n- b\n") == b"# T\r\n- a\r\n- b\r\n"
    assert result(windows, windows + b"- b\r\n", base) == b"# T\n- a\n- b\n"
    assert result(None, windows, b"# T\n- a\n- b\n") == b"# T\n- a\n- b\n"


def test_blank_lines_follow_the_side_that_changed_them_and_keep_units_apart() -> None:
    assert result(b"a\n\nb\n", b"a\n\n\n\nb\n", b"a\n\nb\n\nc\n") == b"a\n\n\n\nb\n\nc\n"
    assert result(b"# T\n", b"# T\none\n", b"# T\ntwo\n") == b"# T\none\n\ntwo\n"
    assert result(b"# T\n", b"# T\n\n- one\n", b"# T\n\n- two\n") == b"# T\n\n- one\n- two\n"


def test_sections_that_both_machines_add_stay_whole() -> None:
    data = result(b"# T\n", b"# T\n\n## Tea\n\n- green\n- black\n", b"# T\n\n## Cake\n\n- plum\n- apple\n")
    assert data == b"# T\n\n## Cake\n\n- plum\n- apple\n\n## Tea\n\n- green\n- black\n"
