"""A fact of memory leads back to the history entries it was made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.provenance import TOKEN, fact_hash, plain, source_trailer, sources

FACTS = st.text(max_size=40)
PATHS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20)
CURSORS = st.lists(st.integers(0, 10**12), min_size=1, max_size=6)


@given(PATHS, FACTS, CURSORS)
def test_a_trailer_is_read_as_it_was_written(path: str, fact: str, cursors: list[int]) -> None:
    token, value = source_trailer(path, fact, cursors)
    assert token == TOKEN
    assert "\n" not in value
    assert sources({token: [value]}) == {(path, fact_hash(fact)): tuple(sorted(set(cursors)))}


@given(
    st.text(st.sampled_from("ab c\n"), min_size=1), st.sampled_from(["- ", "* ", "+ ", "12. ", "3) ", "  - "])
)
def test_a_fact_is_the_same_with_any_list_mark_and_any_blanks(fact: str, mark: str) -> None:
    respaced = f"{mark}{fact}".replace(" ", "  ").replace("\n", "\n    ")
    assert fact_hash(respaced) == fact_hash(fact)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("- likes tea", "likes tea"),
        ("  * likes\n    tea ", "likes tea"),
        ("1. likes tea", "likes tea"),
        ("-5 degrees", "-5 degrees"),
        ("2026 was good", "2026 was good"),
        ("- - a", "- a"),
        ("喜欢茶", "喜欢茶"),
    ],
)
def test_a_plain_fact_has_neither_mark_nor_line_breaks(fact: str, expected: str) -> None:
    assert plain(fact) == expected


def test_different_facts_have_different_hashes() -> None:
    assert len({fact_hash(f"fact {number}") for number in range(2000)}) == 2000


@pytest.mark.parametrize(
    "value",
    [
        "",
        "memory/MEMORY.md",
        "memory/MEMORY.md:123456789abc",
        "memory/MEMORY.md:123456789abc <- ",
        "memory/MEMORY.md:123456789abc <- 1,",
        "memory/MEMORY.md:123456789abc <- -1",
        "memory/MEMORY.md:123456789ABC <- 1",
        "memory/MEMORY.md:123456789abc <- \u0663",
        "memory/MEMORY.md:123456789abc <- " + "1" * 5000,
        "a\nb:123456789abc <- 1",
    ],
)
def test_lines_that_do_not_read_as_such_are_passed_over(value: str) -> None:
    good = source_trailer("USER.md", "x", [7])[1]
    assert sources({TOKEN: [value, good]}) == {("USER.md", fact_hash("x")): (7,)}


@given(st.lists(st.text(max_size=60) | st.from_regex(r".{0,5}:[0-9a-f]{12} <- \d{1,30}(,\d{1,30})?")))
def test_any_trailers_can_be_read(values: list[str]) -> None:
    assert all(cursors for cursors in sources({TOKEN: values}).values())


def test_a_commit_without_such_trailers_names_no_source() -> None:
    assert sources({"Gitmem-Kind": ["dream"]}) == {}
