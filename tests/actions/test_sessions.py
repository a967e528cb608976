"""Sessions as a person handles them: found, deleted, forked, and all of it taken back."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.actions import begin, sessions, undo
from gitmem.actions.capture import Capture
from gitmem.core import session, session_names
from gitmem.core.model import CommitInfo, Kind
from gitmem.edges import plan, workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.errors import NotFound, SessionInUse, UsageError
from tests.engines import LONG_AGO, make_workspace, session_bytes, talk, write_session


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    root = make_workspace(tmp_path / "ws")
    write_session(root, "cli:direct", talk(3), archived=2)
    write_session(root, "telegram:42", talk(1))
    with open_workspace(workspace.find(root)) as opened:
        capture(opened)
        yield opened


def capture(opened: Opened) -> list[CommitInfo]:
    work = Capture(opened)
    paths = work.scan()
    return list(work.run(paths, overdue=paths).commits)


def folder(opened: Opened) -> Path:
    return opened.workspace.directory / "sessions"


def done(opened: Opened, made: plan.Plan, *, force: bool = False) -> CommitInfo:
    commit = plan.apply(opened, made, force=force)
    assert commit is not None
    return commit


def test_sessions_are_told_with_what_matters_the_last_saved_first(opened: Opened) -> None:
    head = {"_type": "metadata", "key": "cli:late", "updated_at": "2031-01-05T10:00:00"}
    state = {"title": "Late", "runtime_checkpoint": {"phase": "awaiting_tools", "pending_tool_calls": [{}]}}
    (folder(opened) / "x.jsonl").write_text(json.dumps({**head, "metadata": state}) + "\n")
    late, *others = sessions.known(opened)
    assert (late.key, late.path, late.title) == ("cli:late", "sessions/x.jsonl", "Late")
    assert late.turn is not None
    assert (late.turn.phase, late.turn.pending) == ("awaiting_tools", 1)
    assert {item.key: (len(item.session.messages), item.session.last_consolidated) for item in others} == {
        "cli:direct": (6, 2),
        "telegram:42": (2, 0),
    }
    assert [item.saved for item in others] == [LONG_AGO, LONG_AGO]


def test_a_session_without_a_key_is_called_what_its_file_name_stands_for(opened: Opened) -> None:
    (folder(opened) / "slack_c7.jsonl").write_bytes(b'{"role": "user", "content": "x"}\n')
    assert sessions.find(opened, "slack:c7").path == "sessions/slack_c7.jsonl"


@pytest.mark.parametrize("name", ["cli:direct", "sessions/cli_direct.jsonl", "cli_direct"])
def test_a_session_is_found_by_key_file_or_stem(opened: Opened, name: str) -> None:
    assert sessions.find(opened, name).key == "cli:direct"


def test_an_unknown_session_and_one_in_two_files_are_refused(opened: Opened) -> None:
    with pytest.raises(NotFound, match="cli:gone"):
        sessions.find(opened, "cli:gone")
    (folder(opened) / "copy.jsonl").write_bytes(session_bytes("cli:direct", talk(1)))
    with pytest.raises(UsageError, match="2 files"):
        sessions.find(opened, "cli:direct")
    assert len(sessions.find(opened, "sessions/copy.jsonl").session.messages) == 2


def test_a_deleted_session_is_gone_from_disk_and_returns_with_a_revert(opened: Opened) -> None:
    path = folder(opened) / "cli_direct.jsonl"
    before = path.read_bytes()
    commit = done(opened, sessions.plan_delete(opened, "cli:direct"))
    assert (commit.kind, commit.subject) == (Kind.DELETE, "delete(session cli:direct): 6 messages")
    assert commit.session == "cli:direct"
    assert not path.exists()
    assert not capture(opened)
    done(opened, undo.plan_revert(opened, [commit]))
    assert path.read_bytes() == before


def test_a_session_that_an_agent_may_hold_is_deleted_only_by_force_with_its_checkpoint(
    opened: Opened,
) -> None:
    path = folder(opened) / "cli_direct.jsonl"
    sidecar = folder(opened) / "cli_direct.checkpoint.json"
    sidecar.write_text('{"session_key": "cli:direct", "checkpoint": {"phase": "awaiting_tools"}}')
    capture(opened)
    with pytest.raises(SessionInUse):
        plan.apply(opened, sessions.plan_delete(opened, "cli:direct"))
    assert path.exists()
    done(opened, sessions.plan_delete(opened, "cli:direct"), force=True)
    assert not path.exists()
    assert not sidecar.exists()


def test_a_deletion_can_be_planned_before_anything_is_committed(opened: Opened) -> None:
    write_session(opened.workspace.directory, "cli:new", talk(1))
    (change,) = sessions.plan_delete(opened, "cli:new").changes
    assert change.old is not None
    assert change.new is None


def test_a_fork_is_a_session_of_its_own_that_can_be_taken_back_at_once(opened: Opened) -> None:
    source = folder(opened) / "cli_direct.jsonl"
    before = source.read_bytes()
    commit = done(opened, sessions.plan_fork(opened, "cli:direct", "cli:other", 3))
    assert commit.kind is Kind.SESSION
    assert commit.subject == "session(cli:other): forked from cli:direct before turn 3"
    assert commit.session == "cli:other"
    path = folder(opened) / "cli_other.jsonl"
    made = session.parse(path.read_bytes())
    assert (made.key, len(made.messages), made.last_consolidated) == ("cli:other", 4, 2)
    assert path.read_bytes().split(b"\n")[1:-1] == before.split(b"\n")[1:5]
    assert source.read_bytes() == before
    assert not capture(opened)
    done(opened, undo.plan_revert(opened, [commit]))
    assert not path.exists()


def test_a_fork_is_no_idle_session(opened: Opened) -> None:
    done(opened, sessions.plan_fork(opened, "cli:direct", "cli:other", 2))
    assert opened.clock() - sessions.find(opened, "cli:other").saved < 60


@pytest.mark.parametrize("key", ["telegram:42", "cli:direct", "", " "])
def test_a_key_that_is_taken_or_empty_is_refused(opened: Opened, key: str) -> None:
    with pytest.raises(UsageError):
        sessions.plan_fork(opened, "cli:direct", key, 2)


def test_a_file_that_holds_another_session_is_never_taken_for_a_fork(opened: Opened) -> None:
    path = folder(opened) / "cli_other.jsonl"
    path.write_bytes(session_bytes("somebody", talk(1)))
    with pytest.raises(UsageError, match="cli_other"):
        sessions.plan_fork(opened, "cli:direct", "cli:other", 2)
    capture(opened)
    path.unlink()
    with pytest.raises(UsageError, match="cli_other"):
        sessions.plan_fork(opened, "cli:direct", "cli:other", 2)


@pytest.mark.parametrize("key", ["../../etc/passwd", "con", "a\0b", "x" * 300, "Ünïcode 🦊", "a\udc80"])
def test_a_strange_key_stays_inside_the_sessions_folder(opened: Opened, key: str) -> None:
    done(opened, sessions.plan_fork(opened, "cli:direct", key, 2))
    assert sessions.find(opened, key).path.count("/") == 1
    assert len(list(folder(opened).glob("*.jsonl"))) == 3


def test_sessions_kept_outside_by_their_agent_are_forked_under_the_names_it_looks_for(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "config" / "sessions" / ("0" * 32)
    (root / ".nanobot").mkdir(parents=True)
    outside.mkdir(parents=True)
    source = outside / f"{session_names.nanobot_stem('cli:direct')}.jsonl"
    source.write_bytes(session_bytes("cli:direct", talk(2)))
    os.utime(source, (LONG_AGO, LONG_AGO))
    (root / "SOUL.md").write_text("- x\n")
    begin.begin(begin.plan(root, "nanobot", outside, adopt=False, separate=False))
    with open_workspace(workspace.find(root)) as opened:
        capture(opened)
        done(opened, sessions.plan_fork(opened, "cli:direct", "cli:other", 2))
    path = outside / f"{session_names.nanobot_stem('cli:other')}.jsonl"
    assert session.parse(path.read_bytes()).key == "cli:other"
    assert path.stat().st_mode & 0o777 == 0o600
