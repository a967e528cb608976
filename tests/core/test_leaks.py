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
