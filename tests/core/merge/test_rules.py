"""The rules under every merge, and the orders they are put in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge import members
from gitmem.core.merge.lines import merge_lines, stretches
from gitmem.core.merge.numbers import renumbered
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.rules import numbered, pick, pick_count, pick_flag, survivors
from tests.core.merge.versions import THOROUGH

KEYS = st.lists(st.integers(0, 12), unique=True, max_size=10)


def rank(key: int) -> int:
    return (key * 7) % 13


def starts(key: int) -> bool:
    return key % 3 == 0


@THOROUGH
@given(KEYS, KEYS, KEYS)
def test_an_order_of_both_keeps_each_key_once_and_each_order(
    base: list[int], ours: list[int], theirs: list[int]
) -> None:
    keep = set(ours) | set(theirs)
    merged = merge_order(keep, (base, ours, theirs), rank, starts)
    assert merged == merge_order(keep, (base, theirs, ours), rank, starts)
    assert sorted(merged) == sorted(keep)
    assert merge_order(set(ours), (base, ours, ours), rank, starts) == ours
    if [key for key in ours if key in theirs] == [key for key in theirs if key in ours]:
        assert [key for key in merged if key in ours] == ours
        assert [key for key in merged if key in theirs] == theirs


def test_the_side_that_moved_something_decides_where_it_stands() -> None:
    assert merge_order({1, 2, 3}, ([1, 2, 3], [3, 1, 2], [1, 2, 3]), rank) == [3, 1, 2]
    assert merge_order({1, 2, 3}, ([1, 2, 3], [1, 2, 3], [3, 1, 2]), rank) == [3, 1, 2]


def test_what_goes_on_from_the_last_common_thing_comes_before_new_beginnings() -> None:
    assert merge_order({0, 1, 3, 4}, ([0], [0, 3], [0, 1, 4]), lambda key: key, starts) == [0, 1, 4, 3]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "wanted"),
    [
        (1, 1, 1, 1),
        (1, 0, 1, 0),
        (1, 2, 1, 2),
        (0, 1, 1, 1),
        (3, 2, 1, 0),
        (3, 1, 1, 1),
        (1, 2, 3, 3),
        (2, 1, 3, 2),
    ],
)
def test_counts_add_up_but_never_past_what_a_side_has(base: int, ours: int, theirs: int, wanted: int) -> None:
    assert pick_count(base, ours, theirs) == pick_count(base, theirs, ours) == wanted


def test_the_side_that_changed_something_decides() -> None:
    assert pick("a", "a", "b", min) == pick("a", "b", "a", min) == "b"
    assert pick("a", "c", "b", min) == pick("a", "b", "c", min) == "b"
    assert pick_flag(base=True, ours=True, theirs=False) is False
    assert pick_flag(base=False, ours=True, theirs=False) is True
    assert survivors([1, 2, 3], [1, 2, 4], [1, 3, 5]) == {1, 4, 5}
    assert numbered("aba") == [("a", 0), ("b", 0), ("a", 1)]


def test_text_merges_by_lines_or_not_at_all() -> None:
    assert merge_lines(b"a\nb\nc", b"A\nb\nc", b"a\nb\nC") == b"A\nb\nC"
    assert merge_lines(b"a\nb\nc", b"A\nb\nc", b"B\nb\nc") is None
    assert merge_lines(b"a\nb\nc\n", b"a\nb\nc\nd\n", b"b\nc\n") == b"b\nc\nd\n"
    assert merge_lines(b"a\nb\nc\n", b"a\r\nb\r\nc\r\n", b"a\nb\nC\n") == b"a\r\nb\r\nC\r\n"
    assert merge_lines(b"a\nb\nc\n", b"a\nb\nC\n", b"a\r\nb\r\nc\r\n") == b"a\r\nb\r\nC\r\n"
    assert merge_lines(b"a", b"a", b"") == b""


@THOROUGH
@given(*[st.lists(st.sampled_from("abc"), max_size=8)] * 3)
def test_stretches_hold_all_of_every_version(base: list[str], ours: list[str], theirs: list[str]) -> None:
    found = list(stretches(base, ours, theirs))
    assert [item for part in found for item in part.base] == base
    assert [item for part in found for item in part.ours] == ours
    assert [item for part in found for item in part.theirs] == theirs


def three(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    read = members.read
    merged = members.merge(read(base), read(ours), read(theirs), members.smaller)
    return members.write(ours, merged.values())


def test_members_keep_the_spelling_of_whoever_wrote_them() -> None:
    base = b'{"a":1.0,"b":[1,  2],"c":"\\u00e9"}'
    assert three(base, b'{"a":1.0,"c":"\\u00e9","d" : 1e-7}', b'{"b":[1,  2], "a":2.00,"c":"\\u00e9"}') == (
        b'{"a":2.00,"c":"\\u00e9","d" : 1e-7}'
    )
    assert three(b"{}", b"{}", b'{"x": 1}') == b'{"x": 1}'
    assert three(b'{"x": 1}', b'{"x": 2}', b'{"x": 3}') == b'{"x": 2}'
    assert three(b'{"x": 1}', b'{"x": 1 }', b'{"x":  1}') == b'{"x":  1 }'
    assert three(b'{"x": 1}', b"{}", b'{"x": 3}') == b'{"x": 3}'
    assert three(b'{"x": 1, "y": 1}', b'{"y": 1}', b'{"x": 1, "y": 2}') == b'{"y": 2}'


def test_numbers_are_kept_where_that_keeps_their_meaning() -> None:
    known = {"a": 1, "b": 2, "c": None}
    assert renumbered(["a"], ["b", "c"], known, 5, ord) == {"a": 1, "b": 2, "c": 6}
    assert renumbered(["b"], ["a", "c"], known, 5, ord) == {"b": 2, "a": 6, "c": 7}
    assert renumbered(["a", "b"], ["c"], {"a": 3, "b": 3, "c": 4}, 5, ord) == {"a": 3, "b": 6, "c": 7}
