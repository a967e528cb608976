"""Lists of chat messages: which tool call is answered where, and what may be sent to a model.

A list is *legal* when each tool result follows the assistant message that declared its call, and each
declared call has one result before the next message of another kind (memory-format, section 1). Calls of
the last message may still be open: their turn is under way. Functions here never change a message; they
give back new lists.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Message: TypeAlias = Mapping[str, Any]
"""One message in OpenAI chat form, unknown fields included. Not to be changed in place: make a new one."""

INTERRUPTED = "Error: Task interrupted before this tool finished."
"""Content of the result of a call that was cut off; the same text that nanobot writes."""


@dataclass(frozen=True, slots=True)
class Block:
    """A message that is no tool result, and the tool results directly behind it.

    Attributes:
        head: The message; None where a list starts with results that belong to nothing.
        results: Tool messages, as they stand in the list.
    """

    head: Message | None
    results: tuple[Message, ...] = ()


def blocks(messages: Iterable[Message]) -> list[Block]:
    """Cut a list in front of every message that is no tool result."""
    found: list[tuple[Message | None, list[Message]]] = []
    for message in messages:
        if message.get("role") != "tool":
            found.append((message, []))
        elif found:
            found[-1][1].append(message)
        else:
            found.append((None, [message]))
    return [Block(head, tuple(results)) for head, results in found]


def declared(message: Message | None) -> dict[str, str]:
    """The calls that a message declares: id -> name of the tool, in order; malformed calls are left out."""
    calls = message.get("tool_calls") if message and message.get("role") == "assistant" else None
    return {
        call["id"]: tool_name(call)
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict) and isinstance(call.get("id"), str)
    }


def tool_name(call: Mapping[str, Any]) -> str:
    """The name of the tool that a call is for; `tool` where it does not say."""
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and name else "tool"


def stub(call_id: str, name: str) -> dict[str, Any]:
    """The result of a call that was interrupted."""
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": INTERRUPTED}


def is_stub(message: Message) -> bool:
    """Whether a tool message only says that its call was interrupted."""
    return message.get("role") == "tool" and message.get("content") == INTERRUPTED


def results_by_call(head: Message | None, results: Iterable[Message]) -> dict[str, Message]:
    """One result per declared call that has any, as they stand; a real one wins over a stub."""
    calls = declared(head)
    found: dict[str, Message] = {}
    for result in results:
        call_id = result.get("tool_call_id")
        if isinstance(call_id, str) and call_id in calls:
            known = found.get(call_id)
            if known is None or (is_stub(known) and not is_stub(result)):
                found[call_id] = result
    return found


def is_legal(messages: Iterable[Message]) -> bool:
    """Whether every result has its call and every call its one result; the last calls may be open."""
    open_calls: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if not isinstance(call_id, str) or call_id not in open_calls:
                return False
            open_calls.remove(call_id)
        elif open_calls:
            return False
        else:
            open_calls = set(declared(message))
    return True


def open_calls(messages: Sequence[Message]) -> tuple[str, ...]:
    """Ids of the calls at the end of a list that have no result yet."""
    last = blocks(messages)[-1:]
    return tuple(
        call_id
        for block in last
        for call_id in declared(block.head)
        if call_id not in results_by_call(block.head, block.results)
    )


def legal_suffix(messages: Sequence[Message], count: int) -> tuple[Message, ...]:
    """The last messages, at most `count`, that can stand alone.

    Args:
        messages: A legal list.
        count: The most messages to keep.

    Returns:
        Everything when it fits. Else the part from the first user turn among the last `count` messages; where
        there is none, from the first message there that is no tool result, since its call would be missing.
    """
    start = max(0, len(messages) - max(0, count))
    roles = [message.get("role") for message in messages]
    if start and "user" in roles[start:]:
        start = roles.index("user", start)
    while start < len(messages) and roles[start] == "tool":
        start += 1
    return tuple(messages[start:])


def for_request(messages: Sequence[Message]) -> list[Message]:
    """The messages as a provider accepts them; nothing of it is stored (case B19).

    Returns:
        Calls without a result get an interrupted one in its place, unless they are at the end; results that
        no call declared are left out; calls without arguments get `{}`. Texts are never left out.
    """
    found = blocks(messages)
    request: list[Message] = []
    for number, block in enumerate(found, 1):
        if block.head is None:
            continue
        request.append(_with_arguments(block.head))
        results = results_by_call(block.head, block.results)
        request += results.values()
        if number < len(found):
            calls = declared(block.head)
            request += [stub(call_id, name) for call_id, name in calls.items() if call_id not in results]
    return request


def _with_arguments(message: Message) -> Message:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not any(_lacks_arguments(call) for call in calls):
        return message
    return {**message, "tool_calls": [_complete(call) if _lacks_arguments(call) else call for call in calls]}


def _lacks_arguments(call: object) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and function.get("arguments") is None


def _complete(call: Mapping[str, Any]) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": "{}"}}
