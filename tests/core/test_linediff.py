import random

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.linediff import Hunk, blocks, counts, hunks

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=30)


def applied(old: list[str], found: list[Hunk[str]]) -> list[str]:
    result, at = [], 0
    for hunk in found:
        result += old[at : hunk.old_start]
        assert len(result) == hunk.new_start
        at = hunk.old_start
        for sign, line in hunk.lines:
            if sign != "+":
                assert old[at] == line
                at += 1
            if sign != "-":
                result.append(line)
    return result + old[at:]


@given(LINES, LINES, st.integers(0, 4))
def test_applying_the_hunks_to_the_old_version_gives_the_new_one(
    old: list[str], new: list[str], context: int
) -> None:
    assert applied(old, list(hunks(old, new, context))) == new


@given(LINES, LINES)
def test_blocks_are_equal_lines_in_rising_order(old: list[str], new: list[str]) -> None:
    at = new_at = 0
    for block in blocks(old, new):
        assert block.old >= at
        assert block.new >= new_at
        assert old[block.old : block.old + block.size] == new[block.new : block.new + block.size]
        at, new_at = block.old + block.size, block.new + block.size


def test_equal_versions_have_no_hunks() -> None:
    assert list(hunks(["a", "b"], ["a", "b"])) == []


def test_far_changes_have_their_own_hunks_and_near_ones_share_one() -> None:
    old = [str(n) for n in range(40)]
    far = ["x", *old[1:30], "y", *old[31:]]
    near = ["x", *old[1:7], "y", *old[8:]]
    assert [hunk.header() for hunk in hunks(old, far)] == ["@@ -1,4 +1,4 @@", "@@ -28,7 +28,7 @@"]
    assert [hunk.header() for hunk in hunks(old, near)] == ["@@ -1,11 +1,11 @@"]


def test_headers_count_as_git_does() -> None:
    assert [hunk.header() for hunk in hunks([], ["a"])] == ["@@ -0,0 +1 @@"]
    assert [hunk.header() for hunk in hunks(["a", "b"], [])] == ["@@ -1,2 +0,0 @@"]


def test_a_large_rewrite_is_matched_at_the_lines_that_occur_once() -> None:
    old = [f"message {n}" for n in range(3000)]
    new = ["metadata", *old[1000:2000], "inserted", *old[2001:]]
    assert counts(old, new) == (2, 1001)
    assert applied(old, list(hunks(old, new))) == new


def test_a_large_shuffle_still_gives_a_true_diff() -> None:
    order = random.Random(7)
    old = [str(order.randrange(50)) for _ in range(4000)] + [f"once {n}" for n in range(500)]
    new = list(old)
    order.shuffle(new)
    assert applied(old, list(hunks(old, new))) == new
