"""Replays as commits: named so that a person sees what came back, whatever the session is called."""

import json
import os
from pathlib import Path

import pytest

from gitmem.actions import begin, replay
from gitmem.actions.capture import Capture
from gitmem.core.message import SUBJECT_WIDTH
from gitmem.core.model import Kind
from gitmem.edges import workspace
from gitmem.edges.opened import open_workspace


@pytest.mark.parametrize("key", ["cli:direct", "k" * 300, "x\n\nGitmem-Kind: dream\nGitmem-Session: other"])
def test_a_replay_says_what_came_back_and_a_key_forges_nothing(tmp_path: Path, key: str) -> None:
    root, call = (
        tmp_path / "ws",
        {"id": "c1", "type": "function", "function": {"name": "exec", "arguments": "{}"}},
    )
    state = {
        "phase": "awaiting_tools",
        "assistant_message": {"role": "assistant", "content": "", "tool_calls": [call]},
        "completed_tool_results": [],
        "pending_tool_calls": [call],
    }
    head = {
        "_type": "metadata",
        "key": key,
        "metadata": {"runtime_checkpoint": state},
        "last_consolidated": 0,
    }
    path = root / "sessions" / "a.jsonl"
    path.parent.mkdir(parents=True)
    lines = (head, {"role": "user", "content": "go"})
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    os.utime(path, (1, 1))
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    with open_workspace(workspace.find(root)) as opened:
        work = Capture(opened)
        work.run(work.scan())
        (item,) = replay.interrupted(opened)
        commit = replay.perform(opened, item)
        assert commit is not None
        assert commit.kind is Kind.REPLAY
        assert commit.subject.endswith("): 1 assistant, 1 interrupted call")
        assert len(commit.subject) <= SUBJECT_WIDTH
        assert len(commit.trailers["Gitmem-Session"]) == 1
        assert replay.interrupted(opened) == []
