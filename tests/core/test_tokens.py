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
OTHER_LANGUAGES = {"german.txt": 0.25}
"""Languages that nothing was promised for, and how far off they may be."""


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_the_estimate_is_near_the_true_count(name: str) -> None:
    text = (SAMPLES / name).read_text("utf-8")
    assert estimate(text) == pytest.approx(COUNTS[name], rel=OTHER_LANGUAGES.get(name, 0.15))


def test_every_sample_has_its_true_count() -> None:
    assert {path.name for path in SAMPLES.glob("*.txt")} == COUNTS.keys()


@given(st.text())
def test_any_text_has_an_estimate_that_is_no_more_than_its_bytes_and_some(text: str) -> None:
    assert 0 <= estimate(text) <= 3 * len(text) + 2


@given(st.text(max_size=50), st.integers(1, 50))
def test_more_of_the_same_is_not_less(text: str, times: int) -> None:
    assert estimate(f"{text}\n" * times) >= estimate(text)


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
    block = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    assert estimate_messages([{"role": "user", "content": [{"type": "text", "text": "see"}, block]}]) < 1000
