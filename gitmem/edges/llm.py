"""Asking a model over HTTP: the only importer of `openai`, which is loaded when a model is asked and not before.

Any server that speaks OpenAI's chat completions will do. Answers are read by `core/completion`, since compatible servers send
much that the library's own types do not allow for. One request at a time; never as a stream.
"""

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from gitmem.core import completion, retrying
from gitmem.core.completion import Answer, Usage
from gitmem.edges.config import Settings
from gitmem.errors import ConfigError, ModelError

OPENAI = "https://api.openai.com/v1"
_LARGEST = 8 << 20
"""Bytes of an answer that are read; more is no answer."""
_RETRIED = frozenset({"offline", "timeout", "rate-limit", "server"})
_NOT_GIVEN = "none"
"""Servers of one's own want no key, the library wants one."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked.

    Attributes:
        base_url: Of the API, without `/chat/completions`.
        model: The model's name.
        api_key: The key; never shown.
        timeout: Seconds for one answer, with all tries and pauses.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)
    timeout: float


def endpoint(settings: Settings) -> Endpoint:
    """The endpoint that the settings name.

    Raises:
        ModelError: No model is set (reason `none`).
        ConfigError: The key file cannot be read.
    """
    if not settings.model:
        raise ModelError("none", "no model is set", "Name one: gitmem config model NAME (see docs/model.md)")
    base_url = settings.base_url or OPENAI
    return Endpoint(base_url, settings.model, _key(settings, base_url), settings.model_timeout)


def _key(settings: Settings, base_url: str) -> str:
    """The key: `GITMEM_API_KEY`, the key file, or, for OpenAI itself only, the variable that its own tools read."""
    if key := os.environ.get("GITMEM_API_KEY"):
        return key
    if settings.api_key_file:
        path = Path(settings.api_key_file).expanduser()
        try:
            return path.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"api_key_file: {path} cannot be read: {error}") from error
    if _is_openai(base_url):
        if key := os.environ.get("OPENAI_API_KEY"):
            return key
        raise ModelError(
            "none", "no API key is set", "Set GITMEM_API_KEY, or: gitmem config api_key_file PATH"
        )
    return _NOT_GIVEN


def _is_openai(base_url: str) -> bool:
    return base_url.rstrip("/") == OPENAI


class Form(Enum):
    """How a model is made to answer with data: the best way that its server understands."""

    TOOLS = "tool calls"
    JSON = "JSON mode"
    PLAIN = "plain text"


_WORSE = {Form.TOOLS: Form.JSON, Form.JSON: Form.PLAIN}
_NOT_UNDERSTOOD = frozenset({400, 404, 415, 422, 501})
"""Statuses with which servers refuse what they do not know."""


@dataclass
class Client:
    """A model, asked one question after the other; counts what it costs.

    Attributes:
        endpoint: Where.
        sleep: Waits between tries; an argument so that tests need not wait.
        usage: Tokens so far, also those of answers that were no good.
        calls: Answers asked for so far.
        form: How calls are asked for: what the server turned out to understand.
    """

    endpoint: Endpoint
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    form: Form = Form.TOOLS

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        tools: Sequence[Mapping[str, Any]] = (),
        json_mode: bool = False,
    ) -> Answer:
        """One answer. Blocks; must not be called from a thread that runs an event loop.

        Args:
            messages: The conversation in OpenAI chat form.
            max_tokens: Most tokens of the answer.
            tools: Tools it may call.
            json_mode: Ask the server for a JSON object as text.

        Raises:
            ModelError: There is none, after as many tries as can help and the endpoint's time allows.
        """
        limit = "max_completion_tokens" if _is_openai(self.endpoint.base_url) else "max_tokens"
        request: dict[str, Any] = {"messages": _sendable(messages), limit: max_tokens, "stream": False}
        if tools:
            request["tools"] = list(tools)
        if json_mode:
            request["response_format"] = {"type": "json_object"}
        self.calls += 1
        try:
            answer = asyncio.run(self._patiently(request))
        except ModelError as error:
            self.usage += Usage(*error.tokens)
            raise
        self.usage += answer.usage
        return answer

    def ask_for_calls(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], *, max_tokens: int
    ) -> Answer:
        """One answer to a question that wants data: as tool calls, or where the server has none, as JSON in the text.

        Raises:
            ModelError: As for `ask`.
        """
        while True:
            offered = tools if self.form is Form.TOOLS else ()
            try:
                return self.ask(
                    messages, max_tokens=max_tokens, tools=offered, json_mode=self.form is Form.JSON
                )
            except ModelError as error:
                if error.status not in _NOT_UNDERSTOOD or self.form not in _WORSE:
                    raise
                self.form = _WORSE[self.form]

    def cost(self, spent: Usage, seconds: float) -> tuple[tuple[str, str], ...]:
        """Trailers that tell which model was asked and what it took.

        Args:
            spent: The usage before.
            seconds: How long it took.
        """
        prompt, completion = self.usage.prompt - spent.prompt, self.usage.completion - spent.completion
        return (
            ("Gitmem-Model", self.endpoint.model),
            ("Gitmem-Tokens", f"{prompt}+{completion}"),
            ("Gitmem-Seconds", f"{seconds:.1f}"),
        )

    async def _patiently(self, request: Mapping[str, Any]) -> Answer:
        """Ask again where that can help. A pause that would not end in time is not begun."""
        until = time.monotonic() + self.endpoint.timeout
        for tried in range(1, retrying.TRIES + 1):
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + until - time.monotonic()):
                    return completion.read(await _post(self.endpoint, request))
            except TimeoutError:
                raise ModelError("timeout", f"no answer within {self.endpoint.timeout:.0f} s") from None
            except ModelError as error:
                wait = retrying.pause(tried, error.retry_after, random.random())
                if error.reason not in _RETRIED or tried == retrying.TRIES or time.monotonic() + wait > until:
                    raise
                await self.sleep(wait)
        raise AssertionError("unreachable")


def _sendable(messages: Sequence[Mapping[str, Any]]) -> Any:
    """The messages with a question mark for each lone surrogate (a byte that is no UTF-8): no server takes those."""
    return json.loads(json.dumps(list(messages), ensure_ascii=False).encode("utf-8", "replace"))


async def _post(place: Endpoint, request: Mapping[str, Any]) -> bytes:
    """The body of a good response.

    Raises:
        ModelError: The server cannot be reached, or answers with a status that is none of success.
    """
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415  (half a second: only who asks a model pays for it)

    client = openai.AsyncOpenAI(
        api_key=place.api_key, base_url=place.base_url, max_retries=0, timeout=place.timeout
    )
    try:
        async with (
            client,
            client.chat.completions.with_streaming_response.create(model=place.model, **request) as response,
        ):
            return await _limited(response.iter_bytes(1 << 16))
    except openai.APITimeoutError as error:
        raise ModelError("timeout", f"{place.base_url} did not answer in time") from error
    except openai.APIStatusError as error:
        raise _status_error(
            place, error.status_code, error.body, error.response.headers.get("retry-after")
        ) from error
    except (openai.OpenAIError, httpx2.HTTPError) as error:
        cause = str(error.__cause__ or error).replace(place.api_key, "***")
        raise ModelError(
            "offline", f"{place.base_url} cannot be reached: {cause}", "Is base_url right? See: gitmem config"
        ) from error


async def _limited(chunks: Any) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > _LARGEST:
            raise ModelError("garbled", "the answer does not end")
    return bytes(body)


def _status_error(place: Endpoint, status: int, body: object, retry_after: str | None) -> ModelError:
    text = completion.error_text(body).replace(place.api_key, "***")
    reason, hint = _meaning(status, text)
    asked = retrying.seconds_asked(retry_after, time.time())
    return ModelError(
        reason, f"{place.base_url} answered {status}: {text}", hint, status=status, retry_after=asked
    )


def _meaning(status: int, text: str) -> tuple[str, str | None]:
    """The reason for an HTTP status, and what to do about it."""
    if status == 402 or "insufficient_quota" in text:
        return "payment", "The account has no credit left."
    if status in (401, 403):
        return "auth", "Is the key right? GITMEM_API_KEY, or: gitmem config api_key_file"
    if status == 429:
        return "rate-limit", None
    if status in (408, 409, 425) or status >= 500:
        return "server", None
    return "refused", "Are model and base_url right? See: gitmem config"
