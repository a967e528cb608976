"""The sample workspace is what the specification says a workspace is."""

from pathlib import Path

import pytest

from gitmem.core import checkpoint, history, session
from gitmem.core.paths import classify_path
from gitmem.core.replay import replay

SAMPLE = Path(__file__).parent.parent / "sample_workspace"
SESSIONS = sorted((SAMPLE / "sessions").glob("*.jsonl"))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_sessions_are_sound(path: Path) -> None:
    parsed = session.parse(path.read_bytes())
    assert parsed.problems == ()
    assert session.is_legal(parsed.messages)
    assert parsed.key is not None
    assert session.file_stem(parsed.key) == path.stem
    assert session.render(parsed) == path.read_bytes()


def test_just_one_turn_is_interrupted_and_replays_to_a_legal_list() -> None:
    interrupted = [path for path in SESSIONS if checkpoint.is_mid_turn(path.read_bytes())]
    assert [path.stem for path in interrupted] == ["cli_packing"]
    made = replay(interrupted[0].read_bytes(), now="2026-03-05T08:00:00")
    assert made is not None
    assert (made.assistants, made.results, made.interrupted) == (1, 1, 1)
    assert session.is_legal(session.parse(made.session).messages)


def test_history_and_cursors_agree() -> None:
    data = (SAMPLE / "memory" / "history.jsonl").read_bytes()
    parsed = history.parse(data)
    assert parsed.problems == ()
    cursor = history.parse_cursor((SAMPLE / "memory" / ".cursor").read_bytes())
    assert cursor == parsed.entries[-1].cursor
    keys = {session.parse(path.read_bytes()).key for path in SESSIONS}
    assert {entry.session_key for entry in parsed.entries if entry.session_key} <= keys


def test_every_file_is_kept() -> None:
    paths = [path.relative_to(SAMPLE).as_posix() for path in SAMPLE.rglob("*") if path.is_file()]
    assert [path for path in paths if not classify_path(path).versioned] == []
