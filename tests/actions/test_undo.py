"""Going back: which commits in which order, and what is refused while an agent may hold a session."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.actions import begin, undo
from gitmem.actions.capture import Capture
from gitmem.core.message import SUBJECT_WIDTH
from gitmem.core.model import CommitInfo
from gitmem.edges import workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.errors import NotFound, SessionInUse, UsageError

SESSION = b'{"_type": "metadata", "key": "cli:direct", "metadata": {}, "last_consolidated": 0}\n'


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    root = tmp_path / "ws"
    (root / "sessions").mkdir(parents=True)
    (root / "memory").mkdir()
    (root / "SOUL.md").write_text("- one\n")
    (root / "memory" / ".cursor").write_text("3")
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    with open_workspace(workspace.find(root)) as opened:
        opened.clock = lambda: 1_800_000_000.0
        capture(opened)
        yield opened


def capture(opened: Opened) -> CommitInfo:
    work = Capture(opened)
    paths = work.scan()
    return work.run(paths, overdue=paths).commits[-1]


def write(opened: Opened, path: str, data: bytes) -> CommitInfo:
    (opened.workspace.directory / path).write_bytes(data)
    return capture(opened)


def test_commits_of_the_same_second_are_taken_back_newest_first_whatever_their_order(opened: Opened) -> None:
    first = write(opened, "SOUL.md", b"- one, corrected\n")
    second = write(opened, "SOUL.md", b"- one, corrected twice\n")
    assert first.time == second.time
    for order in ([first, second], [second, first]):
        plan = undo.plan_revert(opened, order)
        file = plan.snapshot.files["SOUL.md"]
        assert file is not None
        assert file.data == b"- one\n"


def test_the_first_commit_is_no_change_to_take_back(opened: Opened) -> None:
    head = opened.repo.head()
    assert head is not None
    with pytest.raises(UsageError, match="first commit"):
        undo.plan_revert(opened, [opened.repo.info(head)])


def test_restoring_leaves_cursors_where_they_are(opened: Opened) -> None:
    head = opened.repo.head()
    assert head is not None
    write(opened, "memory/.cursor", b"7")
    write(opened, "SOUL.md", b"- two\n")
    plan = undo.plan_restore(opened, [""], opened.repo.info(head))
    assert list(plan.snapshot.files) == ["SOUL.md"]


def test_a_lost_cursor_returns_as_it_was_last(opened: Opened) -> None:
    head = opened.repo.head()
    assert head is not None
    write(opened, "memory/.cursor", b"7")
    (opened.workspace.directory / "memory" / ".cursor").unlink()
    undo.apply(opened, undo.plan_restore(opened, [""], opened.repo.info(head)), force=True)
    assert (opened.workspace.directory / "memory" / ".cursor").read_bytes() == b"7"
    (opened.workspace.directory / "memory" / ".cursor").unlink()
    capture(opened)
    undo.apply(opened, undo.plan_restore(opened, [""], opened.repo.info(head)), force=True)
    assert (opened.workspace.directory / "memory" / ".cursor").read_bytes() == b"3"


def test_what_did_not_exist_then_cannot_be_restored(opened: Opened) -> None:
    head = opened.repo.head()
    assert head is not None
    with pytest.raises(NotFound, match="absent"):
        undo.plan_restore(opened, ["absent.md"], opened.repo.info(head))


def test_a_session_saved_a_moment_ago_is_left_alone(opened: Opened) -> None:
    write(opened, "sessions/cli_direct.jsonl", SESSION)
    path = opened.workspace.directory / "sessions" / "cli_direct.jsonl"
    os.utime(path, (opened.clock() - 5, opened.clock() - 5))
    with pytest.raises(SessionInUse, match="last saved"):
        undo.check_in_use(opened, ["sessions/cli_direct.jsonl"])
    os.utime(path, (opened.clock() - 3600, opened.clock() - 3600))
    undo.check_in_use(opened, ["sessions/cli_direct.jsonl"])


@pytest.mark.parametrize("beside", [True, False], ids=["sidecar", "metadata"])
def test_a_session_in_the_middle_of_a_turn_is_left_alone(opened: Opened, beside: bool) -> None:
    folder = opened.workspace.directory / "sessions"
    state = b"" if beside else b'"runtime_checkpoint": {"phase": "awaiting_tools"}'
    (folder / "cli_direct.jsonl").write_bytes(
        SESSION.replace(b'"metadata": {}', b'"metadata": {' + state + b"}")
    )
    if beside:
        (folder / "cli_direct.checkpoint.json").write_text(
            '{"version": 1, "session_key": "cli:direct", "checkpoint": {}}'
        )
    os.utime(folder / "cli_direct.jsonl", (1, 1))
    with pytest.raises(SessionInUse, match="middle of a turn"):
        undo.check_in_use(opened, ["sessions/cli_direct.jsonl"])


def test_a_long_list_of_paths_does_not_hide_what_a_restore_did(opened: Opened) -> None:
    head = opened.repo.head()
    assert head is not None
    for number in range(9):
        (opened.workspace.directory / f"a-note-with-a-name-{number}.md").write_bytes(b"- x\n")
    made = capture(opened)
    paths = [f"a-note-with-a-name-{number}.md" for number in range(9)]
    for path in paths:
        write(opened, path, b"- y\n")
    subject = undo.plan_restore(opened, paths, made).snapshot.message.subject
    assert subject.endswith(f"as of {made.sha[:8]}")
    assert len(subject) <= SUBJECT_WIDTH
