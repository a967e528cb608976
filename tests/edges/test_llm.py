"""Asking a model over real HTTP: what servers do wrong, and how long that may take."""

import time
from email.utils import formatdate
from typing import Any

import pytest

from endpoint import Endpoint
from gitmem.core.completion import Usage
from gitmem.edges import config, llm
from gitmem.edges.llm import Client, Form
from gitmem.errors import ConfigError, ModelError
from tests.engines import client

ASKED = [{"role": "user", "content": "summarise"}]
TOOLS = [{"type": "function", "function": {"name": "propose_edits", "parameters": {"type": "object"}}}]
GOOD = {"text": "- likes tea"}


def failure(*script: Any, timeout: float = 20.0) -> tuple[ModelError, int]:
    with Endpoint(script) as endpoint:
        with pytest.raises(ModelError) as caught:
            client(endpoint, timeout).ask(ASKED, max_tokens=10)
        return caught.value, len(endpoint.requests)


def test_an_answer_is_its_text_and_what_it_cost() -> None:
    with Endpoint([GOOD]) as endpoint:
        model = client(endpoint)
        answer = model.ask(ASKED, max_tokens=10)
        assert answer.text == "- likes tea"
        assert model.usage == answer.usage != Usage()
        request = endpoint.requests[0]
        assert (request["model"], request["stream"], request["max_tokens"]) == ("scripted", False, 10)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"body": {"choices": []}}, "no-answer"),
        ({"body": {"choices": None}}, "no-answer"),
        ({"body": {"error": {"message": "overloaded"}}}, "error"),
        ({"body": ""}, "garbled"),
        ({"body": "<html>gateway</html>"}, "garbled"),
        ({"body": 'data: {"choices": []}\n\n'}, "garbled"),
        ({"text": None}, "empty"),
        ({"text": "  \n"}, "empty"),
        ({"text": "<think>hm, what"}, "empty"),
        ({"text": "half", "finish": "length"}, "length"),
        ({"text": "half", "finish": "content_filter"}, "content_filter"),
        ({"text": "Error", "finish": "error"}, "error"),
        ({"status": 400, "body": {"error": {"message": "too long"}}}, "refused"),
        ({"status": 401, "body": {"error": {"message": "bad key"}}}, "auth"),
        ({"status": 402, "body": {"error": {"message": "no credit"}}}, "payment"),
        ({"status": 429, "body": {"error": {"code": "insufficient_quota"}}}, "payment"),
    ],
)
def test_b78_b80_what_a_new_try_cannot_mend_is_asked_once_and_named(item: Any, reason: str) -> None:
    error, requests = failure(item)
    assert (error.reason, requests) == (reason, 1)


@pytest.mark.parametrize(
    "item",
    [
        {"status": 429},
        {"status": 429, "headers": {"Retry-After": "2"}},
        {"status": 503, "headers": {"Retry-After": "soon"}},
        {"status": 500, "body": "oops"},
        {"close": True},
    ],
)
def test_what_a_new_try_can_mend_is_tried_again(item: Any) -> None:
    with Endpoint([item, item, GOOD]) as endpoint:
        assert client(endpoint).ask(ASKED, max_tokens=10).text == "- likes tea"
        assert len(endpoint.requests) == 3
        assert endpoint.most_at_once == 1


def test_b87_the_waits_are_what_the_server_asks_within_reason_and_tries_are_few() -> None:
    year = formatdate(time.time() + 3e7, usegmt=True)
    script = [
        {"status": 429, "headers": {"Retry-After": value}} for value in ("2", year, "999999", "-5", "soon")
    ]
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    with Endpoint(script) as endpoint:
        place = llm.Endpoint(endpoint.url, "scripted", "none", 10_000.0)
        with pytest.raises(ModelError) as caught:
            Client(place, sleep=note).ask(ASKED, max_tokens=10)
        assert caught.value.reason == "rate-limit"
        assert len(endpoint.requests) == 4
    assert waited == [2.0, 300.0, 300.0]


def test_a_wait_that_would_outlast_the_time_there_is_is_not_begun() -> None:
    error, requests = failure({"status": 429, "headers": {"Retry-After": "60"}}, timeout=5.0)
    assert (error.reason, requests) == ("rate-limit", 1)


def test_a_server_that_says_nothing_is_given_up() -> None:
    error, _ = failure({"hang": 30}, timeout=0.5)
    assert error.reason == "timeout"


def test_b86_a_server_that_only_pings_is_given_up() -> None:
    error, _ = failure({"drip": 30}, timeout=0.5)
    assert error.reason == "timeout"


def test_nobody_at_the_address_is_offline() -> None:
    model = Client(llm.Endpoint("http://127.0.0.1:9/v1", "m", "none", 0.5))
    with pytest.raises(ModelError) as caught:
        model.ask(ASKED, max_tokens=10)
    assert caught.value.reason in ("offline", "timeout")


def test_tokens_of_a_useless_answer_are_counted_too() -> None:
    with Endpoint([{"text": "half", "finish": "length"}]) as endpoint:
        model = client(endpoint)
        with pytest.raises(ModelError):
            model.ask(ASKED, max_tokens=10)
        assert model.usage.total > 0


@pytest.mark.parametrize(
    ("flags", "form"),
    [({}, Form.TOOLS), ({"no_tools": True}, Form.JSON), ({"no_tools": True, "no_json": True}, Form.PLAIN)],
)
def test_a_server_without_tool_calls_is_asked_for_json(flags: dict[str, bool], form: Form) -> None:
    with Endpoint([{"edits": [], **flags}]) as endpoint:
        model = client(endpoint)
        model.ask_for_calls(ASKED, TOOLS, max_tokens=10)
        assert model.form is form
        model.ask_for_calls(ASKED, TOOLS, max_tokens=10)
        assert ("tools" in endpoint.requests[-1]) is (form is Form.TOOLS)


def test_a_key_never_stands_in_an_error() -> None:
    with Endpoint([{"status": 401, "body": {"error": {"message": "bad key sk-secret"}}}]) as endpoint:
        model = Client(llm.Endpoint(endpoint.url, "m", "sk-secret", 5.0))
        with pytest.raises(ModelError) as caught:
            model.ask(ASKED, max_tokens=10)
        assert "sk-secret" not in str(caught.value)
        assert "sk-secret" not in repr(model)


def test_without_a_model_there_is_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITMEM_MODEL", "GITMEM_API_KEY", "OPENAI_API_KEY", "GITMEM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError) as caught:
        llm.endpoint(config.load(None))
    assert caught.value.reason == "none"
    with pytest.raises(ModelError, match="key"):
        llm.endpoint(config.load(None, {"model": "m"}))


def test_the_key_for_openai_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("GITMEM_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    assert llm.endpoint(config.load(None, {"model": "m"})).api_key == "theirs"
    for url in ("http://127.0.0.1:1/v1", "https://api.openai.com/v1.example.org"):
        assert llm.endpoint(config.load(None, {"model": "m", "base_url": url})).api_key == "none"
    (tmp_path / "key").write_text("mine\n")
    found = config.load(
        None, {"model": "m", "base_url": "http://h/v1", "api_key_file": str(tmp_path / "key")}
    )
    assert llm.endpoint(found).api_key == "mine"
    with pytest.raises(ConfigError, match="api_key_file"):
        llm.endpoint(config.load(None, {"model": "m", "api_key_file": str(tmp_path / "none")}))


def test_a_file_that_travels_with_the_memory_may_not_say_who_reads_it(tmp_path: Any) -> None:
    (tmp_path / ".gitmem.toml").write_text('base_url = "http://evil.example/v1"\n')
    with pytest.raises(ConfigError, match="base_url"):
        config.load(tmp_path)
