"""A model's answer as it comes over the wire -> text, tool calls and usage, or the reason why it is none (case B78).

The form is that of OpenAI's chat completions. Compatible servers get it wrong in many ways, so nothing about it is taken for
granted: a body that is no good answer is a `ModelError`, never another exception and never a piece of text that looks like an
answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitmem.core.jsonl import check_depth
from gitmem.core.jsontext import JsonObject
from gitmem.core.leaks import without_leaks
from gitmem.errors import ModelError

_CUT = {
    "length": "the answer was cut off at the limit of tokens",
    "max_tokens": "the answer was cut off at the limit of tokens",
    "content_filter": "the answer was held back by a content filter",
    "error": "the server reports an error in place of an answer",
}
"""Finish reasons of answers that are not whole."""
_SHOWN = 200
_STARTS = 40
"""How many opening braces are tried when a JSON document is looked for in a text."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counted them; 0 where it did not."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.prompt + other.prompt, self.completion + other.completion)

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion

    @property
    def pair(self) -> tuple[int, int]:
        """Both, as an error carries them."""
        return self.prompt, self.completion


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    Attributes:
        id: What its result has to name.
        name: The tool.
        arguments: The arguments; None where they are no JSON object.
    """

    id: str
    name: str
    arguments: JsonObject | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        text: What it says, without thinking; may be empty when there are calls.
        calls: The tool calls, in order.
        usage: Tokens it took.
        message: The assistant message to send back in the next request.
    """

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    message: Mapping[str, Any] = field(repr=False)


def read(body: bytes) -> Answer:
    """Read the body of a response with status 200.

    Raises:
        ModelError: It is no whole answer: an error, no choice, a refusal, cut off, empty, or nothing but thinking.
    """
    document = _document(body)
    if document.get("error"):
        raise ModelError("error", f"the server answered with an error: {error_text(document)}")
    usage = _usage(document.get("usage"))
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError("no-answer", "the server answered without a message", tokens=usage.pair)
    finish = choice.get("finish_reason")
    if isinstance(finish, str) and finish in _CUT:
        raise ModelError(finish, _CUT[finish], tokens=usage.pair)
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        raise ModelError("refusal", f"the model refused: {_short(refusal)}", tokens=usage.pair)
    calls = tuple(_calls(message))
    text = without_leaks(_text(message.get("content"), usage))
    if not text and not calls:
        raise ModelError("empty", "the answer holds no text", tokens=usage.pair)
    return Answer(text, calls, usage, _echo(message, text))


def _document(body: bytes) -> JsonObject:
    try:
        document = json.loads(body)
        check_depth(document)
    except (ValueError, RecursionError):
        raise ModelError(
            "garbled", f"the answer is no JSON: {_short(body.decode('utf-8', 'replace'))}"
        ) from None
    if not isinstance(document, dict):
        raise ModelError("garbled", "the answer is no JSON object")
    return document


def error_text(document: object) -> str:
    """What an error body says, in one short line."""
    error = document.get("error", document) if isinstance(document, dict) else document
    text = error.get("message") or error.get("code") or error if isinstance(error, dict) else error
    try:
        return _short(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str))
    except RecursionError:
        return "an error nested too deeply to be shown"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _usage(value: object) -> Usage:
    def number(name: str) -> int:
        found = value.get(name) if isinstance(value, dict) else None
        return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0

    return Usage(number("prompt_tokens"), number("completion_tokens"))


def _text(content: object, usage: Usage) -> str:
    """The text of a message: a string, or the text blocks of a list."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    raise ModelError(
        "garbled", f"the answer's content is no text but a {type(content).__name__}", tokens=usage.pair
    )


def _calls(message: JsonObject) -> Iterator[ToolCall]:
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name, call_id = function.get("name"), call.get("id")
            yield ToolCall(
                call_id if isinstance(call_id, str) and call_id else f"call_{number}",
                name if isinstance(name, str) else "",
                _arguments(function.get("arguments")),
            )


def _arguments(value: object) -> JsonObject | None:
    """A call's arguments: an object, also where a server sends it as such and not as text."""
    if isinstance(value, dict):
        return value
    return next(objects(value), None) if isinstance(value, str) else None


def _echo(message: JsonObject, text: str) -> JsonObject:
    """What the model said, as the next request repeats it: calls with ids and arguments as text, no thinking."""
    echo: JsonObject = {"role": "assistant", "content": text or None}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.name or "unnamed",
                "arguments": json.dumps(call.arguments or {}, ensure_ascii=False),
            },
        }
        for call in _calls(message)
    ]
    return echo | ({"tool_calls": calls} if calls else {})


_DECODER = json.JSONDecoder()
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)


def objects(text: str) -> Iterator[JsonObject]:
    """The JSON objects in a text, whatever stands around them: code fences, greetings, a list around them."""
    for part in (*(match[1] for match in _FENCED.finditer(text)), text):
        start = 0
        for _ in range(_STARTS):
            start = part.find("{", start)
            if start < 0:
                break
            try:
                value, end = _DECODER.raw_decode(part, start)
                check_depth(value)
            except ValueError:
                start += 1
                continue
            except RecursionError:
                break
            start = end
            if isinstance(value, dict):
                yield value
