"""A model's answer is taken for nothing until it is read; what is none has a reason."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.completion import Usage, error_text, objects, read
from gitmem.errors import ModelError


def body(message: Any, finish: Any = "stop", **more: Any) -> bytes:
    return json.dumps(
        {"choices": [{"index": 0, "finish_reason": finish, "message": message}], **more}
    ).encode()


def test_text_calls_and_usage_are_read() -> None:
    call = {"id": "c1", "function": {"name": "exec", "arguments": '{"a": 1}'}}
    answer = read(
        body({"content": "hi", "tool_calls": [call]}, usage={"prompt_tokens": 10, "completion_tokens": 5})
    )
    assert (answer.text, answer.usage) == ("hi", Usage(10, 5))
    assert (answer.calls[0].name, answer.calls[0].arguments) == ("exec", {"a": 1})
    assert answer.message["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


def test_b78_a_list_of_blocks_is_text() -> None:
    blocks = [{"type": "text", "text": "summary in "}, {"type": "text", "text": "two blocks"}]
    assert read(body({"content": blocks})).text == "summary in two blocks"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ("{broken", None),
        ("", None),
        (None, None),
        ([1], None),
    ],
)
def test_arguments_come_in_many_forms(arguments: Any, expected: Any) -> None:
    answer = read(
        body({"content": None, "tool_calls": [{"function": {"name": "x", "arguments": arguments}}]})
    )
    assert answer.calls[0].arguments == expected
    assert answer.calls[0].id


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "garbled"),
        (b"<html>", "garbled"),
        (b"[]", "garbled"),
        (b'data: {"choices": []}', "garbled"),
        (b"{}", "no-answer"),
        (b'{"choices": []}', "no-answer"),
        (b'{"choices": null}', "no-answer"),
        (b'{"choices": {"0": {}}}', "no-answer"),
        (b'{"choices": [{"message": null}]}', "no-answer"),
        (b'{"error": {"message": "overloaded"}}', "error"),
        (b'{"error": "no"}', "error"),
        (body({"content": "half"}, "length"), "length"),
        (body({"content": "half"}, "content_filter"), "content_filter"),
        (body({"content": "Error: overloaded"}, "error"), "error"),
        (body({"content": None, "refusal": "I cannot"}), "refusal"),
        (body({"content": None}), "empty"),
        (body({"content": "<think>hm</think>"}), "empty"),
        (body({"content": {"a": 1}}), "garbled"),
        (body({"content": 42}), "garbled"),
    ],
)
def test_b78_b80_b81_b86_what_is_no_answer_has_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(data)
    assert caught.value.reason == reason


NAMES = [
    "choices",
    "message",
    "content",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "id",
    "error",
    "usage",
    "text",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


BLOCKS = st.lists(
    st.fixed_dictionaries({}, optional={"type": JSON, "text": st.text(max_size=5) | JSON}), max_size=2
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "function": st.fixed_dictionaries(
                {}, optional={"name": JSON, "arguments": JSON | st.just('{"a": 1}')}
            )
        },
        optional={"id": JSON},
    )
    | JSON,
    max_size=2,
)
BODIES = st.builds(
    lambda message, finish, more: {"choices": [{"message": message, "finish_reason": finish}]} | more,
    st.fixed_dictionaries(
        {"content": st.text(max_size=20) | BLOCKS | JSON},
        optional={"tool_calls": CALLS | JSON, "refusal": JSON, "role": JSON},
    ),
    st.sampled_from(["stop", "length", None]) | JSON,
    st.dictionaries(st.sampled_from(["usage", "id", "error"]), JSON, max_size=1),
)


@given(st.binary(max_size=60) | (JSON | BODIES).map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_answer_or_a_reason(data: bytes) -> None:
    with suppress(ModelError):
        answer = read(data)
        assert answer.text or answer.calls
        assert answer.usage.prompt >= 0
        assert json.loads(json.dumps(answer.message))["role"] == "assistant"
        assert all(call.id for call in answer.calls)


@pytest.mark.parametrize("depth", [150, 250, 990, 5000, 100_000])
@pytest.mark.parametrize("place", ["arguments", "text arguments", "error", "content", "body"])
def test_values_nested_ever_deeper_are_an_answer_or_a_reason(depth: int, place: str) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    data = {
        "arguments": '{"choices":[{"message":{"tool_calls":[{"function":{"arguments":DEEP}}]}}]}',
        "text arguments": json.dumps(
            {"choices": [{"message": {"tool_calls": [{"function": {"arguments": deep}}]}}]}
        ),
        "error": '{"error":[DEEP]}',
        "content": '{"choices":[{"message":{"content":[DEEP]}}]}',
        "body": "DEEP",
    }[place]
    with suppress(ModelError):
        call = read(data.replace("DEEP", deep).encode()).calls[0]
        assert call.arguments is None or len(json.dumps(call.arguments)) == len(deep) + depth


def test_what_an_answer_cost_is_known_when_it_is_none() -> None:
    with pytest.raises(ModelError) as caught:
        read(body({"content": "half"}, "length", usage={"prompt_tokens": 7, "completion_tokens": 3}))
    assert caught.value.tokens == (7, 3)


@pytest.mark.parametrize(
    "usage", [None, [], {"prompt_tokens": "7"}, {"prompt_tokens": -7}, {"prompt_tokens": True}]
)
def test_a_usage_that_means_nothing_is_nothing(usage: Any) -> None:
    assert read(body({"content": "hi"}, usage=usage)).usage == Usage()


def test_b83_thinking_is_not_repeated_in_the_next_request() -> None:
    message = {"role": "assistant", "content": "<think>hm</think>hi", "reasoning_content": "hm"}
    assert read(body(message)).message == {"role": "assistant", "content": "hi"}


def test_b80_an_error_says_what_the_server_says_in_one_short_line() -> None:
    assert error_text({"error": {"message": "over\nloaded"}}) == "over loaded"
    assert error_text({"error": {"code": "E42"}}) == "E42"
    assert error_text({"error": {"type": "overloaded"}}) == '{"type": "overloaded"}'
    assert error_text({"detail": "no"}) == '{"detail": "no"}'
    assert error_text("x" * 500) == "x" * 200 + "..."


@given(st.text(max_size=60))
def test_objects_are_found_in_any_text(text: str) -> None:
    assert {"edits": []} in list(objects(text.replace("{", "") + '{"edits": []}'))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1} and {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('use {braces} as in {"a": 1}', [{"a": 1}]),
        ('{"a": {"b": 1}}', [{"a": {"b": 1}}]),
        ("{" * 100_000, []),
        ('{"a": ' * 100_000, []),
        ("```" * 50_000, []),
        ("", []),
    ],
)
def test_objects_in_a_text_come_in_order(text: str, found: list[Any]) -> None:
    assert list(objects(text)) == found


def test_a_fenced_object_comes_before_what_stands_around_it() -> None:
    text = 'like {"a": 0}:\n```json\n{"a": 1}\n```'
    assert next(objects(text)) == {"a": 1}
