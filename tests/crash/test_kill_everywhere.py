"""A commit, a revert, a restore and a replay killed before each write, rename, unlink and fsync: old or new, never between."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.actions import begin, replay, undo
from gitmem.actions.capture import Capture
from gitmem.core.model import Kind
from gitmem.core.session import parse
from gitmem.edges import workspace
from gitmem.edges.opened import Opened, open_workspace
from tests.crash.killing import capture, disk, every_kill, head, start

CALLS = [{"id": name, "type": "function", "function": {"name": "exec", "arguments": "{}"}} for name in "AB"]
CHECKPOINT = {
    "phase": "awaiting_tools",
    "iteration": 0,
    "assistant_message": {"role": "assistant", "content": "working", "tool_calls": CALLS},
    "completed_tool_results": [{"role": "tool", "tool_call_id": "A", "name": "exec", "content": "done A"}],
    "pending_tool_calls": [CALLS[1]],
}


def session(*messages: dict[str, object], **state: object) -> bytes:
    head = {"_type": "metadata", "key": "cli:direct", "metadata": state, "last_consolidated": 0}
    return b"".join(json.dumps(line).encode() + b"\n" for line in [head, *messages])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sessions").mkdir(parents=True)
    (root / "memory").mkdir()
    (root / "SOUL.md").write_text("# Soul\n- one\n- two\n")
    (root / "USER.md").write_text("# User\n- likes tea\n")
    (root / "sessions" / "cli_direct.jsonl").write_bytes(session({"role": "user", "content": "hi"}))
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    capture(root)
    return root


def kinds(root: Path) -> list[Kind]:
    with open_workspace(workspace.find(root)) as opened:
        return [info.kind for info in opened.repo.history(opened.repo.head())]


def test_a_commit_killed_anywhere_is_made_by_the_next_start(root: Path) -> None:
    (root / "SOUL.md").write_text("# Soul\n- one\n- three\n")
    (root / "memory" / "MEMORY.md").write_text("- new\n")

    def check(_: bool) -> None:
        assert head(root) == disk(root)

    assert every_kill(root, lambda: capture(root), check, lambda: start(root)) > 8


def in_workspace(root: Path, work: Callable[[Opened], object]) -> Callable[[], object]:
    def run() -> None:
        with open_workspace(workspace.find(root)) as opened:
            work(opened)

    return run


def test_a_revert_killed_anywhere_leaves_old_or_new(root: Path) -> None:
    (root / "SOUL.md").write_text("# Soul\n- one\n- two\n- three\n")
    (root / "USER.md").write_text("# User\n- likes coffee\n")
    (root / "notes.md").write_text("- added\n")
    capture(root)
    old, new = (
        disk(root),
        {**disk(root), "SOUL.md": b"# Soul\n- one\n- two\n", "USER.md": b"# User\n- likes tea\n"},
    )
    del new["notes.md"]

    def revert(opened: Opened) -> None:
        tip = opened.repo.head()
        assert tip is not None
        undo.apply(opened, undo.plan_revert(opened, [opened.repo.info(tip)]), force=True)

    def check(through: bool) -> None:
        assert head(root) == disk(root)
        assert disk(root) in ((new,) if through else (old, new))
        assert (kinds(root)[0] is Kind.REVERT) == (disk(root) == new)

    assert every_kill(root, in_workspace(root, revert), check, lambda: start(root)) > 12


def test_a_restore_killed_anywhere_leaves_old_or_new(root: Path) -> None:
    (root / "SOUL.md").unlink()
    (root / "USER.md").write_text("# User\n")
    capture(root)
    old, new = (
        disk(root),
        {**disk(root), "SOUL.md": b"# Soul\n- one\n- two\n", "USER.md": b"# User\n- likes tea\n"},
    )

    def restore(opened: Opened) -> None:
        first = list(opened.repo.history(opened.repo.head()))[-1]
        undo.apply(opened, undo.plan_restore(opened, [""], first), force=True)

    def check(through: bool) -> None:
        assert head(root) == disk(root)
        assert disk(root) in ((new,) if through else (old, new))

    assert every_kill(root, in_workspace(root, restore), check, lambda: start(root)) > 12


def test_a_replay_killed_anywhere_ends_replayed_once(root: Path) -> None:
    path = root / "sessions" / "cli_direct.jsonl"
    path.write_bytes(
        session({"role": "user", "content": "hi"}, runtime_checkpoint=CHECKPOINT, pending_user_turn=True)
    )
    os.utime(path, (1, 1))

    def run(opened: Opened) -> None:
        work = Capture(opened)
        paths = work.scan()
        work.run(paths, overdue=paths)
        for item in replay.interrupted(opened, force=True):
            replay.perform(opened, item)

    def recovery() -> None:
        start(root)
        in_workspace(root, run)()

    def check(_: bool) -> None:
        messages = parse(path.read_bytes()).messages
        assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool"]
        assert [message["content"] for message in messages[2:]] == [
            "done A",
            "Error: Task interrupted before this tool finished.",
        ]
        assert b"runtime_checkpoint" not in path.read_bytes()
        assert head(root) == disk(root)
        assert kinds(root).count(Kind.REPLAY) == 1

    assert every_kill(root, in_workspace(root, run), check, recovery) > 12
