"""The sample workspace is what the specification says a workspace is, and stays so when the agent has lived in it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.core import checkpoint, history, session
from gitmem.core.paths import classify_path
from gitmem.core.replay import replay

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample_workspace"
SESSIONS = sorted((SAMPLE / "sessions").glob("*.jsonl"))


def check_sessions(workspace: Path) -> None:
    for path in sorted((workspace / "sessions").glob("*.jsonl")):
        parsed = session.parse(path.read_bytes())
        assert parsed.problems == ()
        assert session.is_legal(parsed.messages), path.name
        assert 0 <= parsed.last_consolidated <= len(parsed.messages)


def check_history(workspace: Path) -> None:
    memory = workspace / "memory"
    parsed = history.parse((memory / "history.jsonl").read_bytes())
    assert parsed.problems == ()
    cursors = [entry.cursor for entry in parsed.entries]
    assert cursors == sorted(set(cursors))
    assert history.parse_cursor((memory / ".cursor").read_bytes()) == cursors[-1]
    dreamed = history.parse_cursor((memory / ".dream_cursor").read_bytes())
    assert dreamed is not None
    assert dreamed <= cursors[-1]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_sessions_are_sound(path: Path) -> None:
    parsed = session.parse(path.read_bytes())
    assert parsed.key is not None
    assert session.file_stem(parsed.key) == path.stem
    assert session.render(parsed) == path.read_bytes()


def test_message_lists_are_legal() -> None:
    check_sessions(SAMPLE)


def test_just_one_turn_is_interrupted_and_replays_to_a_legal_list() -> None:
    interrupted = [path for path in SESSIONS if checkpoint.is_mid_turn(path.read_bytes())]
    assert [path.stem for path in interrupted] == ["cli_packing"]
    made = replay(interrupted[0].read_bytes(), now="2026-03-05T08:00:00")
    assert made is not None
    assert (made.assistants, made.results, made.interrupted) == (1, 1, 1)
    assert session.is_legal(session.parse(made.session).messages)


def test_history_and_cursors_agree() -> None:
    check_history(SAMPLE)


def test_what_is_marked_as_archived_has_an_entry_and_some_of_it_waits_for_a_dream() -> None:
    parsed = history.parse((SAMPLE / "memory" / "history.jsonl").read_bytes())
    keys = {entry.session_key for entry in parsed.entries}
    sessions = [session.parse(path.read_bytes()) for path in SESSIONS]
    archived = {found.key for found in sessions if found.last_consolidated}
    assert archived
    assert archived <= keys
    dreamed = history.parse_cursor((SAMPLE / "memory" / ".dream_cursor").read_bytes())
    assert dreamed is not None
    assert history.after(parsed, dreamed)


def test_skills_have_a_name_and_a_description() -> None:
    skills = sorted((SAMPLE / "skills").rglob("SKILL.md"))
    assert skills
    for path in skills:
        front = re.match(r"---\nname: (.+)\ndescription: .+\n---\n", path.read_text("utf-8"))
        assert front is not None
        assert front[1] == path.parent.name


def test_every_file_is_kept() -> None:
    paths = [path.relative_to(SAMPLE).as_posix() for path in SAMPLE.rglob("*") if path.is_file()]
    assert {"memory/.cursor", "memory/.dream_cursor", "prompts/dream.md"} <= set(paths)
    assert [path for path in paths if not classify_path(path).versioned] == []


@pytest.mark.parametrize("seed", range(4))
def test_the_agent_of_the_demo_leaves_sound_memory(tmp_path: Path, seed: int) -> None:
    workspace = tmp_path / "ws"
    shutil.copytree(SAMPLE, workspace)
    acts = ["talk", "consolidate", "dream"] * 2
    options = ["--turns", "3", "--seed", str(seed), "--pause", "0"]
    words: list[str | Path] = [sys.executable, ROOT / "scripts" / "agent.py", workspace, *acts, *options]
    subprocess.run(words, check=True)
    check_sessions(workspace)
    check_history(workspace)
    assert not list(workspace.rglob("*.tmp"))
    files = [path for path in workspace.rglob("*.jsonl") if checkpoint.is_mid_turn(path.read_bytes())]
    assert [path.stem for path in files] == ["cli_packing"]
    facts = (workspace / "memory" / "MEMORY.md").read_text("utf-8")
    assert "week of 11 May 2026" in facts
    assert "[" not in facts, "marks of consolidation stay in the history"


def test_the_agent_begins_a_session_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    words: list[str | Path] = [sys.executable, ROOT / "scripts" / "agent.py", tmp_path]
    subprocess.run([*words, "--session", "cli:reading", "--pause", "0"], check=True)
    parsed = session.parse((tmp_path / "sessions" / "cli_reading.jsonl").read_bytes())
    assert [message["role"] for message in parsed.messages] == ["user", "assistant", "tool", "assistant"]
