"""The library as a whole: an agent that has no memory of its own uses gitmem alone."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import gitmem
from endpoint import Endpoint
from gitmem import Memory
from gitmem.core.session import parse
from tests.engines import add, subjects

README = Path(__file__).parent.parent / "README.md"


def example() -> str:
    """The program in the README."""
    found = re.search(
        r"^    from gitmem import Memory\n(?:    .*\n|\n)+", README.read_text("utf-8"), re.MULTILINE
    )
    assert found is not None
    return textwrap.dedent(found[0])


def test_the_program_in_the_readme_remembers(private_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = example()
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    with Endpoint([{"text": "Noted."}]) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("GITMEM_BASE_URL", endpoint.url)
        monkeypatch.setattr("builtins.input", lambda _: "I like tea.")
        for _ in range(2):
            exec(compile(code, "README.md", "exec"), {})  # noqa: S102  (the README is ours)
        sent = endpoint.requests[-1]["messages"]
    assert [message["content"] for message in sent] == ["I like tea.", "Noted.", "I like tea."]
    saved = parse((private_home / "agent" / "sessions" / "cli_me.jsonl").read_bytes())
    assert [message["role"] for message in saved.messages] == ["user", "assistant"] * 2
    assert all(message["timestamp"] for message in saved.messages)


def test_upkeep_archives_dreams_and_the_next_turn_knows(tmp_path: Path) -> None:
    script: list[dict[str, Any]] = [
        {"text": "- [permanent] likes tea"},
        {"edits": [add("likes tea", 1, file="USER.md")]},
    ]
    with (
        Endpoint(script) as endpoint,
        Memory(
            tmp_path / "agent", model="m", base_url=endpoint.url, context_window=4096, max_completion=1024
        ) as memory,
    ):
        for number in range(12):
            memory.record("cli:me", {"role": "user", "content": f"{number} " + "tea " * 250})
            memory.record("cli:me", {"role": "assistant", "content": "yes"})
        did = memory.upkeep()
        assert [subject.split("(")[0].split(":")[0] for subject in did] == ["consolidate", "dream"]
        context = memory.context("cli:me")
        assert "likes tea" in context[0]["content"]
        assert len(context) < 24
        memory.record("cli:me", {"role": "user", "content": "go on"})
        assert memory.sessions.load("cli:me").last_consolidated > 0
        assert memory.history.dream_cursor == 1
        assert subjects(memory.engine.opened)[0].startswith("session(cli:me): +1 message")
        assert memory.upkeep() == []


def test_a_folder_with_other_things_in_it_becomes_a_memory_too(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("- x\n")
    with Memory(tmp_path) as memory:
        memory.record("cli:me", {"role": "user", "content": "hi"})
        assert "notes.md" in memory.engine.opened.repo.files(memory.engine.opened.repo.head())
    with Memory(tmp_path) as again:
        assert len(again.sessions.load("cli:me").messages) == 1


@pytest.mark.parametrize("name", gitmem.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(gitmem, name) is not None


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError):
        gitmem.nonsense  # noqa: B018  (looking is the test)
