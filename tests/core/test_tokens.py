"""The estimate of tokens, compared with true counts of cl100k (scripts/check_tokens.py renews them)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.tokens import estimate, estimate_messages

SAMPLES = Path(__file__).parent / "data" / "tokens"
COUNTS: dict[str, int] = json.loads((SAMPLES / "cl100k.json").read_text())


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_the_estimate_is_near_the_true_count(name: str) -> None:
    text = (SAMPLES / name).read_text("utf-8")
    assert estimate(text) == pytest.approx(COUNTS[name], rel=0.15)


def test_every_sample_has_its_true_count() -> None:
    assert {path.name for path in SAMPLES.glob("*.txt")} == COUNTS.keys()


ODD_TEXT = st.text() | st.text("aA1- \n\t{'é你가и─😀") | st.text(st.characters(codec=None))
"""Any text: also of few characters that meet often, also with lone surrogates."""


@given(ODD_TEXT)
def test_any_text_costs_something_and_never_more_than_its_bytes_and_some(text: str) -> None:
    assert bool(text) <= estimate(text) <= 4 * len(text)


@given(ODD_TEXT, ODD_TEXT)
def test_lines_added_before_or_behind_a_text_never_make_it_less(text: str, more: str) -> None:
    assert estimate(f"{text}\n{more}") >= max(estimate(text.rstrip()), estimate(more.lstrip()))


@given(ODD_TEXT, st.integers(2, 50))
def test_more_of_the_same_is_more(text: str, times: int) -> None:
    assert estimate(f"{text}\n" * times) >= estimate(f"{text}\n")


def test_a_foreign_word_does_not_turn_an_english_text() -> None:
    text = (SAMPLES / "english.txt").read_text("utf-8")
    assert estimate(f"{text}\nder\n") <= estimate(text) + 6


def test_random_characters_cost_more_than_names_of_their_length() -> None:
    name = "configuration_of_the_authentication_middleware"
    assert estimate("q7Rk2ZvX9bLm4TnP0sWd8fGh3JcY6aQe5uVi1oBxE7rN2k") > 2 * estimate(name)


def test_a_long_line_of_anything_is_no_trouble() -> None:
    for unit in ("=", "!?", "─", "你", "a", "aA1", " ", " \n", "\x00", "\ud800"):
        assert estimate(unit * 100_000) > 100


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "name", "x"]), JSON), max_size=4
    )
)
def test_messages_of_any_shape_have_an_estimate(messages: list[dict[str, Any]]) -> None:
    assert estimate_messages(messages) >= 4 * len(messages)


def test_a_picture_counts_by_a_constant_not_by_its_bytes() -> None:
    block: dict[str, Any] = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "A" * 100_000},
    }
    assert estimate_messages([{"role": "user", "content": [{"type": "text", "text": "see"}, block]}]) < 1000


def test_what_a_message_says_counts_wherever_it_stands() -> None:
    plain = estimate_messages([{"role": "assistant", "content": None}])
    for said in (
        {"content": "one two three four five six"},
        {"content": [{"type": "text", "text": "one two three four five six"}]},
        {"reasoning_content": "one two three four five six"},
        {"name": "one two three four five six"},
        {"tool_calls": [{"id": "c1", "function": {"name": "exec", "arguments": '{"command": "ls -l"}'}}]},
        {"tool_calls": [{"function": {"name": "exec", "arguments": {"command": "ls -l /"}}}]},
    ):
        assert plain + 5 < estimate_messages([{"role": "assistant", **said}]) < plain + 25


def test_shapes_that_are_no_messages_do_not_raise() -> None:
    ring: list[Any] = []
    ring.append(ring)
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    odd: list[Any] = [None, "text", 7, [], {"content": ring}, {"content": deep}, {"content": 10**6000}]
    odd += [
        {"content": {"type": ["image"]}},
        {"content": b"x"},
        {"tool_calls": 5},
        {"tool_calls": [None, {"function": 1}]},
    ]
    assert estimate_messages(odd) >= 4 * len(odd)


def test_a_data_url_in_a_text_field_counts_as_a_picture() -> None:
    assert estimate_messages([{"role": "user", "content": "data:image/png;base64," + "Ab1/" * 50_000}]) < 1000
