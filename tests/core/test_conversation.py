"""Legal lists of messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.conversation import (
    INTERRUPTED,
    blocks,
    declared,
    for_request,
    is_legal,
    legal_suffix,
    open_calls,
    tool_name,
)
from tests.core.conversations import Json, assistant, call, conversations, loose_messages, roles, tool, user


def test_a_list_is_legal_when_calls_and_results_stand_together() -> None:
    assert is_legal([])
    assert is_legal([user("x"), assistant(None, "a", "b"), tool("b"), tool("a"), assistant("y")])
    assert is_legal([user("x"), assistant(None, "a", "b"), tool("b")])


@pytest.mark.parametrize(
    "messages",
    [
        [tool("a")],
        [assistant("y"), tool("a")],
        [assistant(None, "a"), user("x")],
        [assistant(None, "a"), user("x"), tool("a")],
        [assistant(None, "a"), tool("a"), tool("a")],
        [assistant(None, "a"), {"role": "tool", "content": "no id"}],
        [user("x", tool_calls=[call("a")]), tool("a")],
    ],
)
def test_a_list_with_a_lone_call_or_result_is_not_legal(messages: list[Json]) -> None:
    assert not is_legal(messages)


@given(conversations)
def test_generated_conversations_are_legal(messages: list[Json]) -> None:
    assert is_legal(messages)
    assert not open_calls(messages)


@given(conversations, st.integers(-1, 30))
def test_a_suffix_is_legal_short_enough_and_starts_at_a_user_turn_where_it_can(
    messages: list[Json], count: int
) -> None:
    kept = legal_suffix(messages, count)
    assert len(kept) <= max(0, count)
    assert is_legal(kept)
    assert list(kept) == messages[len(messages) - len(kept) :]
    if "u" in roles(messages[-count:] if count > 0 else []):
        assert roles(kept[:1]) == "u"


def test_a_suffix_without_a_user_turn_starts_behind_results_whose_call_is_gone() -> None:
    messages = [user("x"), assistant(None, "a", "b"), tool("a"), tool("b"), assistant("y")]
    assert legal_suffix(messages, 3) == (messages[-1],)
    assert legal_suffix(messages, 4) == tuple(messages[1:])
    assert legal_suffix(messages, 5) == tuple(messages)


def test_open_calls_are_those_of_the_last_message() -> None:
    assert open_calls([user("x"), assistant(None, "a", "b"), tool("b")]) == ("a",)
    assert open_calls([assistant(None, "a"), user("x")]) == ()


@given(loose_messages)
def test_blocks_together_are_the_list(messages: list[Json]) -> None:
    found = blocks(messages)
    together = [m for block in found for m in ([block.head] if block.head else []) + list(block.results)]
    assert together == messages


@given(loose_messages)
def test_what_is_sent_is_legal_and_keeps_every_text(messages: list[Json]) -> None:
    request = for_request(messages)
    assert is_legal(request)
    assert roles(m for m in request if m.get("role") != "tool") == roles(
        [m for m in messages if m.get("role") != "tool"]
    )
    assert for_request(request) == request


def test_b19_interrupted_calls_get_their_results_in_place() -> None:
    messages = [
        user("build"),
        assistant(None, "c1", "c2", "c3"),
        tool("c1", "ok"),
        user("there?"),
        assistant("yes"),
    ]
    request = for_request(messages)
    assert [m.get("tool_call_id") for m in request] == [None, None, "c1", "c2", "c3", None, None]
    assert [m["content"] for m in request[2:5]] == ["ok", INTERRUPTED, INTERRUPTED]
    assert len(messages) == 5


def test_b19_a_result_that_nobody_asked_for_is_not_sent() -> None:
    messages = [user("x"), assistant("", stop_reason="aborted"), tool("t9"), user("y")]
    assert roles(for_request(messages)) == "uau"


def test_b19_calls_at_the_end_stay_open_until_the_next_turn_starts() -> None:
    messages = [user("x"), assistant(None, "c1")]
    assert roles(for_request(messages)) == "ua"
    assert roles(for_request([*messages, user("y")])) == "uatu"


def test_b19_missing_arguments_are_sent_as_an_empty_object() -> None:
    bare: Json = {"id": "c1", "type": "function", "function": {"name": "exec"}}
    stored = assistant(None, tool_calls=[bare, call("c2"), "odd"])
    request = for_request([user("x"), stored, tool("c1"), tool("c2")])
    assert request[1]["tool_calls"] == [call("c1"), call("c2"), "odd"]
    assert bare["function"] == {"name": "exec"}


def test_a_real_result_is_sent_rather_than_a_stub() -> None:
    request = for_request([assistant(None, "a"), tool("a", INTERRUPTED), tool("a", "real")])
    assert [m["content"] for m in request] == [None, "real"]


@pytest.mark.parametrize("calls", [None, "a", [None], ["a"], [{}], [{"id": 5}], {"id": "a"}])
def test_malformed_calls_declare_nothing(calls: Any) -> None:
    assert declared(assistant(None, tool_calls=calls)) == {}


def test_a_call_without_a_name_is_called_tool() -> None:
    assert [tool_name(c) for c in ({}, {"function": None}, {"function": {"name": ""}}, call("a", "ls"))] == [
        "tool",
        "tool",
        "tool",
        "ls",
    ]
