"""What a model proposes is found in any wrapping, and judged by its shape alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.completion import Answer, ToolCall, Usage
from gitmem.core.dreaming.proposal import OPERATIONS, TOOL, Edit, Refusal, proposed, read_edit
from tests.core.dreaming.drafts import values

GOOD = values("add", "likes tea", file="USER.md", sources=(1, 2))


def said(text: str, *calls: tuple[str, Any]) -> Answer:
    made = tuple(ToolCall(f"c{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
    return Answer(text, made, Usage(), {})


@pytest.mark.parametrize(
    "wrapped",
    ["%s", "```json\n%s\n```", "```\n%s\n```", "Here you are:\n%s\nAnything else?", "{not json} %s", "[%s]"],
)
def test_edits_are_found_in_whatever_is_said_around_them(wrapped: str) -> None:
    assert proposed(said(wrapped % json.dumps({"edits": [GOOD]}))) == [GOOD]


def test_a_document_that_is_said_twice_counts_once() -> None:
    document = json.dumps({"edits": [GOOD]})
    assert proposed(said(f"```json\n{document}\n```\n\nThat is: {document}")) == [GOOD]


def test_the_edits_of_all_calls_count_and_the_text_beside_them_does_not() -> None:
    calls = [
        (TOOL, {"edits": [GOOD]}),
        ("read_skill", {"name": "x"}),
        (TOOL, {"edits": [GOOD | {"op": "delete"}]}),
    ]
    found = proposed(said(json.dumps({"edits": [{"op": "x"}]}), *calls))
    assert found == [GOOD, GOOD | {"op": "delete"}]


@pytest.mark.parametrize(
    "answer",
    [
        said("The user likes tea."),
        said('{"edit": []}'),
        said('{"edits": {"file": "USER.md"}}'),
        said("", (TOOL, None)),
        said("", (TOOL, {"edits": "[]"})),
        said("", ("write_file", {"edits": [GOOD]})),
        said(json.dumps([GOOD])),
    ],
)
def test_b81_what_is_no_list_of_edits_is_no_proposal(answer: Answer) -> None:
    assert proposed(answer) is None


def test_an_empty_list_is_a_proposal() -> None:
    assert proposed(said('{"edits": []}')) == []
    assert proposed(said("", (TOOL, {"edits": []}))) == []


def test_b81_an_edit_that_is_no_object_is_refused_and_not_passed_over() -> None:
    edits = proposed(said("", (TOOL, {"edits": ["likes tea", GOOD]}))) or []
    assert isinstance(read_edit(1, edits[0]), Refusal)
    assert isinstance(read_edit(2, edits[1]), Edit)


def test_an_edit_is_read_under_the_names_that_models_use() -> None:
    expected = Edit("USER.md", "replace", "tea", "coffee", (3,), "because")
    common = {"op": "replace", "sources": [3], "reason": "because"}
    assert read_edit(1, {"file": "USER.md", "anchor": "tea", "text": "coffee", **common}) == expected
    assert read_edit(1, {"path": "USER.md", "old": "tea", "new": "coffee", **common}) == expected
    assert read_edit(1, {"path": "USER.md", "old": "tea", "content": "coffee", **common}) == expected


def test_what_may_be_left_out_is_empty() -> None:
    assert read_edit(
        1, {"file": "USER.md", "op": "add", "anchor": None, "text": "x", "sources": [1]}
    ) == Edit("USER.md", "add", "", "x", (1,), "")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"file": 1}, "must be strings"),
        ({"anchor": ["a"]}, "must be strings"),
        ({"text": {"facts": ["a"]}}, "must be strings"),
        ({"op": "write"}, "op must be one of add, replace"),
        ({"op": ""}, "op must be one of"),
        ({"sources": []}, "sources must list"),
        ({"sources": None}, "sources must list"),
        ({"sources": 3}, "sources must list"),
        ({"sources": [True]}, "sources must list"),
        ({"sources": [1.5]}, "sources must list"),
        ({"sources": ["all"]}, "sources must list"),
    ],
)
def test_b81_a_wrong_shape_is_refused_with_what_would_be_right(wrong: dict[str, Any], why: str) -> None:
    refusal = read_edit(4, GOOD | wrong)
    assert isinstance(refusal, Refusal)
    assert refusal.number == 4
    assert why in refusal.why


def test_cursors_that_came_as_text_are_cursors() -> None:
    edit = read_edit(1, GOOD | {"sources": ["14", 15, " 16 "]})
    assert isinstance(edit, Edit)
    assert edit.sources == (14, 15, 16)


def test_a_reason_that_is_no_text_is_left_out() -> None:
    edit = read_edit(1, GOOD | {"reason": {"a": 1}})
    assert isinstance(edit, Edit)
    assert edit.reason == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["file", "path", "op", "anchor", "old", "text", "new", "content", "sources", "reason", "x"]


@given(
    st.dictionaries(
        st.sampled_from(KEYS),
        JSON
        | st.sampled_from([*OPERATIONS, "USER.md"])
        | st.lists(st.integers() | st.text("0123 \u0663", max_size=25)),
    )
)
def test_any_values_are_an_edit_or_a_refusal(one: dict[str, Any]) -> None:
    edit = read_edit(1, one)
    if isinstance(edit, Edit):
        assert edit.op in OPERATIONS
        assert edit.sources
        assert all(type(source) is int for source in edit.sources)


@given(st.text(max_size=80), st.lists(JSON, max_size=2))
def test_any_answer_proposes_a_list_of_objects_or_nothing(text: str, arguments: list[Any]) -> None:
    answers = [said(text), said(text, *((TOOL, {"edits": one}) for one in arguments))]
    for answer in answers:
        assert all(isinstance(edit, dict) for edit in proposed(answer) or ())
