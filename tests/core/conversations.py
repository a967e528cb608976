"""Messages and strategies that tests of sessions share."""

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from gitmem.core import jsonl

Json = dict[str, Any]


def user(text: str, **more: Any) -> Json:
    return {"role": "user", "content": text, **more}


def assistant(text: str | None, *calls: str, **more: Any) -> Json:
    message: Json = {"role": "assistant", "content": text, **more}
    if calls:
        message["tool_calls"] = [call(name) for name in calls]
    return message


def call(call_id: str, name: str = "exec") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def tool(call_id: str, text: str = "done", name: str = "exec") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": text}


def metadata(key: str = "cli:direct", mark: int = 0, **state: Any) -> Json:
    return {
        "_type": "metadata",
        "key": key,
        "created_at": "2026-03-01T10:00:00",
        "updated_at": "2026-03-01T10:30:00",
        "metadata": state,
        "last_consolidated": mark,
    }


def file_of(*records: Json) -> bytes:
    return b"".join(jsonl.dump(record) + b"\n" for record in records)


@st.composite
def turns(draw: st.DrawFn) -> list[Json]:
    """A legal turn: a user message, iterations with calls and their results, an answer."""
    messages = [user(draw(st.sampled_from(["yes", "do it", "é\u2028"])))]
    for number in range(draw(st.integers(0, 3))):
        ids = [f"c{number}{letter}" for letter in "abc"[: draw(st.integers(1, 3))]]
        messages.append(assistant(draw(st.sampled_from(["", "working", None])), *ids))
        messages += [tool(name, draw(st.sampled_from(["ok", "no"]))) for name in draw(st.permutations(ids))]
    if draw(st.booleans()):
        messages.append(assistant("ready"))
    return messages


conversations = st.lists(turns(), max_size=4).map(
    lambda parts: [message for part in parts for message in part]
)
loose_messages = st.lists(
    st.sampled_from(
        [
            user("x"),
            assistant("y"),
            assistant(None, "a", "b"),
            tool("a"),
            tool("b"),
            tool("z"),
            {"content": 1},
        ]
    )
)


def roles(messages: Iterable[Any]) -> str:
    """The first letter of each role."""
    return "".join(str(message.get("role", "?"))[0] for message in messages)
