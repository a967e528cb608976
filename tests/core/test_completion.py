"""A model's answer is taken for nothing until it is read; what is none has a reason."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.completion import Usage, objects, read
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


NAMES = ["choices", "message", "content", "tool_calls", "function", "error", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "tool_calls", "function", "error", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_answer_or_a_reason(data: bytes) -> None:
    with suppress(ModelError):
        answer = read(data)
        assert answer.text or answer.calls


@given(st.text(max_size=60))
def test_objects_are_found_in_any_text(text: str) -> None:
    assert {"edits": []} in list(objects(text.replace("{", "") + '{"edits": []}'))
