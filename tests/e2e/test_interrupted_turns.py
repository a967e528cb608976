"""An agent that dies in the middle of a turn: everything it did comes back, also what its own checkpoint forgot."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gitmem.core import checkpoint, session
from gitmem.core.model import Kind
from gitmem.edges import workspace
from gitmem.edges.opened import open_workspace
from tests.e2e.running import Daemon, eventually, gitmem, watching

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

PATH = "sessions/cli_direct.jsonl"
BEFORE = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello to you"}]
ASKED = {"role": "user", "content": "do the two steps"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sessions").mkdir(parents=True)
    (root / "SOUL.md").write_text("- be kind\n")
    save(root, BEFORE)
    gitmem("init", root)
    return root


def save(
    root: Path, messages: Sequence[Mapping[str, object]], *, still: bool = False, **state: object
) -> None:
    """As an agent does: a new file beside, renamed over the old one; `still` makes it an old save."""
    head = {
        "_type": "metadata",
        "key": "cli:direct",
        "updated_at": "2026-03-01T10:00:00",
        "metadata": state,
        "last_consolidated": 0,
    }
    path = root / PATH
    temporary = path.with_name(f".{path.name}.0123456789abcdef.tmp")
    temporary.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in (head, *messages)))
    if still:
        os.utime(temporary, (1, 1))
    os.replace(temporary, path)


def phase(name: str, iteration: int) -> dict[str, object]:
    call = {"id": f"c{iteration}", "type": "function", "function": {"name": "exec", "arguments": "{}"}}
    done = name == "tools_completed"
    result = {
        "role": "tool",
        "tool_call_id": f"c{iteration}",
        "name": "exec",
        "content": f"result {iteration}",
    }
    return {
        "phase": name,
        "iteration": iteration,
        "assistant_message": {"role": "assistant", "content": f"step {iteration}", "tool_calls": [call]},
        "completed_tool_results": [result] if done else [],
        "pending_tool_calls": [] if done else [call],
    }


def save_phase(root: Path, daemon: Daemon, name: str, iteration: int, *, still: bool = False) -> None:
    """Save a phase and wait until the daemon has it in flight."""
    save(
        root,
        [*BEFORE, ASKED],
        still=still,
        pending_user_turn=True,
        runtime_checkpoint=phase(name, iteration),
    )
    data = (root / PATH).read_bytes()
    daemon.ask("notify", event="session-saved")
    eventually(f"{name} {iteration} is in flight", lambda: in_flight(root) == data)


def in_flight(root: Path) -> bytes | None:
    with open_workspace(workspace.find(root)) as opened:
        file = opened.repo.file(opened.repo.refs.read(opened.inflight_ref), PATH)
        return None if file is None else file.data


def refs(root: Path) -> dict[str, str]:
    with open_workspace(workspace.find(root)) as opened:
        return opened.repo.refs.below("refs/")


def kinds(root: Path) -> list[tuple[Kind, str]]:
    with open_workspace(workspace.find(root)) as opened:
        return [(info.kind, info.subject) for info in opened.repo.history(opened.repo.head())]


@pytest.mark.parametrize("last", ["awaiting_tools", "tools_completed"])
def test_every_iteration_that_was_seen_comes_back(root: Path, last: str) -> None:
    with watching(root) as daemon:
        save_phase(root, daemon, "awaiting_tools", 0)
        save_phase(root, daemon, "tools_completed", 0)
        save_phase(root, daemon, "awaiting_tools", 1)
        save_phase(root, daemon, last, 1, still=True)
    with watching(root) as daemon:
        eventually("it is replayed", lambda: kinds(root)[0][0] is Kind.REPLAY)
        daemon.flush()
    data = (root / PATH).read_bytes()
    messages = session.parse(data).messages
    assert [message["role"] for message in messages[3:]] == ["assistant", "tool", "assistant", "tool"]
    assert [messages[3]["content"], messages[4]["content"]] == ["step 0", "result 0"]
    assert messages[5]["content"] == "step 1"
    assert (messages[6]["content"] == "result 1") is (last == "tools_completed")
    assert session.is_legal(messages)
    assert not checkpoint.has_run_state(data)
    said = "1 tool result, 1 interrupted call" if last == "awaiting_tools" else "2 tool results"
    assert kinds(root)[0][1] == f"replay(cli:direct): 2 assistants, {said}"

    before = refs(root), data
    with watching(root) as daemon:
        daemon.flush()
    assert (refs(root), (root / PATH).read_bytes()) == before


def test_a_new_turn_brings_back_nothing_of_the_one_before(root: Path) -> None:
    """The phases of a turn that ended well stay in flight's history and are nobody's business later."""
    with watching(root) as daemon:
        save_phase(root, daemon, "tools_completed", 0)
        ended = [
            *BEFORE,
            ASKED,
            {"role": "assistant", "content": "finished"},
            {"role": "user", "content": "next"},
        ]
        save(root, ended)
        daemon.flush()
        save(root, ended, still=True, pending_user_turn=True, runtime_checkpoint=phase("awaiting_tools", 0))
        daemon.flush()
    with watching(root) as daemon:
        eventually("it is replayed", lambda: kinds(root)[0][0] is Kind.REPLAY)
    messages = session.parse((root / PATH).read_bytes()).messages
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2 + [
        "user",
        "assistant",
        "tool",
    ]
    assert messages[-1]["content"] != "result 0"
    assert session.is_legal(messages)


def test_a_replay_can_be_taken_back_and_the_raw_checkpoint_stays(root: Path) -> None:
    with watching(root) as daemon:
        save_phase(root, daemon, "awaiting_tools", 0, still=True)
        raw = (root / PATH).read_bytes()
    with watching(root):
        eventually("it is replayed", lambda: kinds(root)[0][0] is Kind.REPLAY)
    assert in_flight(root) == raw
    gitmem("revert", "HEAD", "--force", "-C", root)
    messages = session.parse((root / PATH).read_bytes()).messages
    assert [message["content"] for message in messages] == ["hello", "hello to you", "do the two steps"]
