"""Only what a model meant to say is stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.leaks import without_leaks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("likes tea", "likes tea"),
        ("<think>hm</think>\nlikes tea", "likes tea"),
        ("a <thinking>x\ny</thinking>b<thought>z</thought>", "a b"),
        ("likes tea <think>and then", "likes tea"),
        ("so he likes tea</think>likes tea", "likes tea"),
        ("<|im_start|>likes tea<|im_end|>", "likes tea"),
        ("likes tea<end_of_turn> [/INST]", "likes tea"),
        ("<think>only", ""),
        ("a < b and c > d <p>", "a < b and c > d <p>"),
    ],
)
def test_thinking_and_template_tokens_are_left_out(text: str, expected: str) -> None:
    assert without_leaks(text) == expected


@given(st.text(st.sampled_from("ab <>/\n")) | st.text())
def test_text_without_tags_is_only_stripped(text: str) -> None:
    assert without_leaks(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "so the user wants a list\n</think>\n- likes tea",
        "</think>He asks.\nNotes\n</think>\n- likes tea",
        "- likes tea\n<think>more?",
        "<thinking>x</thinking><reasoning>y</reasoning><analysis>z</analysis>\n- likes tea",
        "< think >a< /think >- likes tea",
        "<THINK>a</THINK>- likes tea",
        "<think>a<think>b</think>c</think>- likes tea",
        "<|channel|>analysis<|message|>plan<|end|><|channel|>final<|message|>- likes tea",
    ],
)
def test_b83_what_is_left_is_what_was_meant(text: str) -> None:
    assert without_leaks(text) == "- likes tea"


@pytest.mark.parametrize("part", ["<think>", "</think>", "<|channel|>", "< think", "<think></think>"])
def test_b83_very_many_tags_are_no_trouble(part: str) -> None:
    assert len(without_leaks(part * (200_000 // len(part)))) <= 200_000


PARTS = st.sampled_from(
    [
        "<think>",
        "</think>",
        "< / THINKING >",
        "<|im_start|>",
        "<|channel|>",
        "final",
        "<|message|>",
        "<|end|>",
        "[INST]",
    ]
)
LEAKY = st.lists(PARTS | st.text(st.sampled_from("ab <>|/\n")) | st.text(max_size=5), max_size=10)


@given(LEAKY.map(" ".join))
def test_what_is_left_has_no_leak_and_nothing_new(text: str) -> None:
    left = without_leaks(text)
    assert without_leaks(left) == left
    rest = iter(text)
    assert all(character in rest for character in left)


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "<|",
        "<|channel|>final<|message|>a",
        "<|channel|>x<|message|>",
        "<think>a</think>",
        "</think>a",
        "[/INST]",
        "< \t",
    ],
)
def test_b83_cleaning_takes_time_in_proportion_to_the_text(part: str) -> None:
    short, long = part * 50, part * (400_000 // len(part))
    assert len(without_leaks(long)) <= len(long)
    assert bool(without_leaks(short)) == bool(without_leaks(long))


def test_only_the_final_channel_is_meant() -> None:
    text = "<|channel|>commentary<|message|>hm<|call|><|start|>assistant<|channel|>final<|message|>- a\n- b<|return|>"
    assert "hm" not in without_leaks(text)
    assert without_leaks(text).endswith("- a\n- b")
