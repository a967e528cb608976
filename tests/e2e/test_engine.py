"""The memory engine as people and daemons use it: commands, the schedule, and a model that is of no help at all."""

import json
import random
import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from endpoint import Endpoint
from gitmem.core.dreaming.draft import facts
from tests.e2e.running import eventually, gitmem, watching
from tests.engines import (
    add,
    dreamed,
    make_workspace,
    queue,
    session,
    talk,
    tool_call_body,
    write_history,
    write_session,
)

pytestmark = pytest.mark.slow
FAST = {"GITMEM_SESSION_HOT": "0.2", "GITMEM_DREAM_EVERY": "1", "GITMEM_MODEL_TIMEOUT": "60"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_workspace(tmp_path / "ws")
    gitmem("-C", root, "init")
    return root


def model(endpoint: Endpoint) -> dict[str, str]:
    return {"GITMEM_MODEL": "scripted", "GITMEM_BASE_URL": endpoint.url}


def test_a_person_archives_dreams_reviews_and_takes_back(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    script: list[dict[str, Any]] = [{"text": "- [durable] tea at five"}, {"edits": [add("tea at five", 1)]}]
    with Endpoint(script) as endpoint:
        env = model(endpoint)
        done = gitmem("-C", root, "consolidate", "cli:direct", "--json", env=env)
        assert [row["subject"] for row in json.loads(done.stdout)["done"]] == [
            "consolidate(cli:direct): messages 0..12 -> history 1"
        ]
        assert "+- tea at five" in gitmem("-C", root, "dream", "--dry-run", env=env).stdout
        assert dreamed(root) == 0
        assert "gitmem dream accept" in gitmem("-C", root, "dream", "--review", env=env).stdout
        waits = gitmem("-C", root, "dream", env=env, check=False)
        assert waits.returncode == 4
        assert "waits for you" in waits.stderr
        assert "dream: history 1 -> MEMORY.md +1" in gitmem("-C", root, "dream", "accept", env=env).stdout
        assert "Nothing to dream" in gitmem("-C", root, "dream", env=env).stdout
    assert "tea at five" in (root / "memory" / "MEMORY.md").read_text()
    gitmem("-C", root, "revert", "last dream")
    assert "tea at five" not in (root / "memory" / "MEMORY.md").read_text()
    status = json.loads(gitmem("-C", root, "status", "--json").stdout)
    assert status["engine"]["last"]["consolidate"]["outcome"] == "completed"
    assert status["engine"]["prompt_tokens"] > 0
    assert "engine     consolidate: completed" in gitmem("-C", root, "status").stdout


def test_a_command_says_honestly_that_no_summary_was_made(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    with Endpoint([{"status": 401, "body": {"error": {"message": "bad key"}}}]) as endpoint:
        done = gitmem("-C", root, "consolidate", "cli:direct", env=model(endpoint), check=False)
        assert done.returncode == 3
        assert "bad key" in done.stderr
        failed = gitmem("-C", root, "dream", env=model(endpoint), check=False)
        assert failed.returncode == 1
        assert "bad key" in failed.stderr
        assert "the last dream failed" in gitmem("-C", root, "status").stdout
    done = gitmem("-C", root, "consolidate", "cli:direct", "--keep", "0")
    assert done.returncode == 0
    assert "no model is set" in done.stderr
    assert all(f"m{n:02}" in "".join(entry.content for entry in queue(root)) for n in range(20))


def test_sessions_in_use_and_unknown_ones_are_refused(root: Path) -> None:
    path = write_session(root, "cli:direct", talk(10))
    path.touch()
    assert gitmem("-C", root, "consolidate", "cli:direct", check=False).returncode == 4
    assert gitmem("-C", root, "consolidate", "cli:nobody", check=False).returncode == 1
    assert gitmem("-C", root, "consolidate", "cli:direct", "--force").returncode == 0


def test_an_engine_that_waits_for_its_model_stops_neither_commits_nor_the_end(root: Path) -> None:
    write_history(root, "- [durable] tea")
    with (
        Endpoint([{"hang": 60, "edits": []}]) as endpoint,
        watching(root, env={**FAST, **model(endpoint)}) as daemon,
    ):
        eventually("the model is asked", lambda: endpoint.requests)
        (root / "SOUL.md").write_text("# Soul\n\n- be brief\n- be kind\n")
        eventually("an edit is committed", lambda: "SOUL.md" in gitmem("-C", root, "log", "-n", "1").stdout)
        assert daemon.status()["engine"]["state"] == "working"
        began = time.monotonic()
        assert daemon.end(signal.SIGTERM) == 0
        assert time.monotonic() - began < 20
    assert dreamed(root) == 0


def test_the_daemon_compacts_what_is_idle_and_leaves_what_is_quiet_alone(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    with Endpoint() as endpoint:
        quiet = {**FAST, **model(endpoint), "GITMEM_SESSION_TTL": "1", "GITMEM_QUIET_HOURS": "00:00-23:59"}
        with watching(root, env=quiet) as daemon:
            eventually("the engine has looked", lambda: (daemon.status()["engine"]["next_in"] or 0) > 60)
            assert endpoint.requests == []
        with watching(root, env={**quiet, "GITMEM_QUIET_HOURS": ""}):
            eventually("it is compacted", lambda: len(session(root, "cli:direct").messages) == 8)
            eventually("it is dreamed", lambda: dreamed(root) == 1)


def test_an_agent_with_an_engine_of_its_own_is_left_to_it(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "a.md").write_text("- a\n")
    gitmem("init", root, "--agent", "plain")
    with Endpoint() as endpoint, watching(root, env={**FAST, **model(endpoint)}) as daemon:
        engine = daemon.status()["engine"]
        assert engine["state"] == "off"
        assert "left to the agent" in engine["why"]


def test_a_hopeless_model_does_no_harm(root: Path) -> None:
    """Random text, valid shapes with nonsense, endless tool calls: memory changes by sound edits or not at all."""
    chance = random.Random(7)
    for number in range(12):
        write_session(root, f"cli:s{number}", talk(6))
    write_history(root, *(f"- [durable] fact {n}" for n in range(1, 30)))
    before = {path: facts((root / path).read_text()) for path in ("SOUL.md", "USER.md", "memory/MEMORY.md")}
    with Endpoint([nonsense(chance) for _ in range(400)]) as endpoint:
        env = {**model(endpoint), "GITMEM_MODEL_TIMEOUT": "5"}
        for _ in range(6):
            known = len(endpoint.requests)
            done = gitmem("-C", root, "dream", env=env, check=False)
            assert done.returncode in (0, 1), done.stderr
            assert len(endpoint.requests) - known <= 10 * 8
        gitmem("-C", root, "consolidate", "--all", "--keep", "0", env=env, check=False)
    for path, known_facts in before.items():
        now = facts((root / path).read_text())
        assert len(set(known_facts) & set(now)) >= len(known_facts) * 0.5, path
        assert len(now) == len(set(now))
        assert not any(re.search(r"\[durable\]|<think|None|\{", fact) for fact in now)
    archived = "".join(entry.content for entry in queue(root))
    assert all(session(root, f"cli:s{n}").last_consolidated in (0, 12) for n in range(12))
    assert "m03" in archived or "durable" in archived
    assert 0 <= dreamed(root) <= 29
    status = gitmem("-C", root, "status").stdout
    assert "dream: " in status
    assert gitmem("-C", root, "git", "fsck", "--full", "--strict").returncode == 0


def nonsense(chance: random.Random) -> Mapping[str, Any]:
    """One useless answer."""
    words = " ".join(chance.choice(["tea", "{", "None", "[durable]", "深", "<think>", "0"]) for _ in range(8))
    edit: dict[str, Any] = {
        "file": chance.choice(["SOUL.md", "USER.md", "memory/MEMORY.md", "../x", "skills/a/SKILL.md", ""]),
        "op": chance.choice(["add", "replace", "delete", "create_skill", "rewrite"]),
        "anchor": chance.choice(["", "likes tea", "- be brief", "be brief", "# Soul", "nowhere"]),
        "text": chance.choice([words, "", "None", "- likes tea", '{"a": 1}', "x" * 3000]),
        "sources": chance.choice([[1], [], [99], ["1"], [True], [2, 3]]),
    }
    answers: list[Mapping[str, Any]] = [
        {"text": words},
        {"text": json.dumps({"edits": [edit]})},
        {"edits": [edit]},
        {"edits": [edit] * 3},
        {"edits": [{**edit, "text": {"facts": [1]}}]},
        {"edits": []},
        {"text": None},
        {"text": words, "finish": "length"},
        {"body": {"choices": [{"message": {"content": {"a": 1}}}]}},
        tool_call_body("read_file", {"path": words}),
        {"calls": [{"name": "propose_edits", "arguments": words}]},
    ]
    return chance.choice(answers)
