"""Markdown of two machines: each fact of either side is there once, what one removed is gone, and no marker is ever written."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.markdown import parse
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


def units(data: Version) -> Counter[bytes]:
    return Counter(unit.text for unit in parse(data or b"").units)


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
    lines = {line for text in result for line in text.split(b"\n")}
    for text in base | ours | theirs:
        if not base[text]:
            there = (
                result[text]
                or text.decode("utf-8", "backslashreplace") in told
                or set(text.split(b"\n")) <= lines
            )
            assert there, "lost"
        elif min(ours[text], theirs[text]) == 0 and max(ours[text], theirs[text]) <= base[text]:
            assert not result[text], "back"
        assert result[text] <= max(ours[text], theirs[text]) or not (ours[text] or theirs[text]), "twice"


@THOROUGH
@given(three_texts(TIDY))
def test_units_stay_units(versions: tuple[Version, bytes, bytes]) -> None:
    """What was a unit on a side is one in the result: nothing runs into its neighbour."""
    data, _ = merge(*versions)
    sides = units(versions[1]) + units(versions[2])
    odd = [text for text in units(data) if text not in sides]
    assert all(b"\n" in text for text in odd)
