"""Capture: what is on disk becomes history, the disk is never touched, and nothing is committed twice or in vain."""

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.actions import begin
from gitmem.actions.capture import Capture, Outcome
from gitmem.core.model import Kind
from gitmem.edges import workspace
from gitmem.edges.opened import Opened, open_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    for folder in ("sessions", "memory"):
        (root / folder).mkdir(parents=True)
    (root / "SOUL.md").write_text("- one\n")
    (root / "USER.md").write_text("- two\n")
    (root / "memory" / "MEMORY.md").write_text("- three\n")
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    return root


@pytest.fixture
def opened(root: Path) -> Iterator[Opened]:
    with open_workspace(workspace.find(root)) as opened:
        everything(Capture(opened))
        yield opened


@pytest.fixture
def capture(opened: Opened) -> Capture:
    return Capture(opened)


def everything(capture: Capture) -> Outcome:
    paths = capture.scan()
    return capture.run(paths, overdue=paths)


def session(*contents: str, **state: object) -> bytes:
    head = {"_type": "metadata", "key": "cli:direct", "metadata": state, "last_consolidated": 0}
    lines = [head, *({"role": "user", "content": text} for text in contents)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def snapshot_of_disk(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def subjects(opened: Opened) -> list[str]:
    return [info.subject for info in opened.repo.history(opened.repo.head())]


def test_i1_the_working_tree_is_never_changed(root: Path, capture: Capture) -> None:
    (root / "SOUL.md").write_text("- changed\n")
    (root / "sessions" / "a.jsonl").write_bytes(session("x", runtime_checkpoint={"phase": "awaiting_tools"}))
    before = snapshot_of_disk(root)
    assert everything(capture).commits
    assert snapshot_of_disk(root) == before


def test_i2_nothing_changed_makes_no_commit(root: Path, opened: Opened, capture: Capture) -> None:
    head = opened.repo.head()
    os.utime(root / "SOUL.md")
    (root / "SOUL.md").write_text("- one\n")
    assert everything(capture).commits == ()
    assert capture.run({"SOUL.md", "absent.md", "memory"}).commits == ()
    assert opened.repo.head() == head


def test_b50_any_order_of_hints_gives_the_same_single_commit(root: Path, opened: Opened) -> None:
    (root / "SOUL.md").write_text("- changed\n")
    (root / "USER.md").unlink()
    hints = ["memory/MEMORY.md", "memory/.tmp123", "SOUL.md", "USER.md", "memory"]
    head, trees = opened.repo.head(), set()
    assert head is not None
    for order in itertools.permutations(hints):
        (commit,) = Capture(opened).run(order).commits
        trees.add(opened.repo.root(commit.sha))
        assert {change.path for change in opened.repo.changes(commit.sha)} == {"SOUL.md", "USER.md"}
        tip = opened.repo.head()
        assert tip is not None
        branch = opened.repo.branch()
        assert branch is not None
        assert opened.repo.move(branch, tip, head, opened.stamp())
    assert len(trees) == 1


def test_a_torn_session_waits_and_is_flagged_when_it_waited_too_long(
    root: Path, opened: Opened, capture: Capture
) -> None:
    path = root / "sessions" / "a.jsonl"
    path.write_bytes(session("x") + b'{"role": "us')
    outcome = capture.run({"sessions/a.jsonl"})
    assert outcome.commits == ()
    assert outcome.waiting == {"sessions/a.jsonl"}
    late = capture.run({"sessions/a.jsonl"}, overdue={"sessions/a.jsonl"})
    assert late.commits[0].trailers["Gitmem-Torn"] == ("sessions/a.jsonl",)
    file = opened.repo.file(opened.repo.head(), "sessions/a.jsonl")
    assert file is not None
    assert file.data == path.read_bytes()


def test_b22_a_file_truncated_to_nothing_waits_for_its_content(root: Path, capture: Capture) -> None:
    (root / "SOUL.md").write_text("")
    assert capture.run({"SOUL.md"}).waiting == {"SOUL.md"}
    (root / "SOUL.md").write_text("- new\n")
    assert [commit.kind for commit in capture.run({"SOUL.md"}).commits] == [Kind.EDIT]


def test_an_emptied_cursor_is_a_moment_not_a_state(root: Path, capture: Capture) -> None:
    path = root / "memory" / ".cursor"
    path.write_text("7")
    everything(capture)
    path.write_text("")
    assert capture.run({"memory/.cursor"}).waiting == {"memory/.cursor"}


def test_phases_seen_between_batches_are_kept_in_flight_in_order(
    root: Path, opened: Opened, capture: Capture
) -> None:
    path = root / "sessions" / "a.jsonl"
    for iteration in range(3):
        path.write_bytes(session("x", runtime_checkpoint={"phase": "awaiting_tools", "iteration": iteration}))
        capture.peek("sessions/a.jsonl")
    path.write_bytes(session("x", "y"))
    outcome = capture.run({"sessions/a.jsonl"})
    assert [commit.kind for commit in outcome.commits] == [Kind.CHECKPOINT] * 3 + [Kind.SESSION]
    kept = [opened.repo.file(commit.sha, "sessions/a.jsonl") for commit in outcome.commits[:3]]
    assert [f'"iteration": {number}'.encode() in file.data for number, file in enumerate(kept) if file] == [
        True
    ] * 3


def test_a_save_that_only_moves_run_state_makes_no_commit_on_the_branch(
    root: Path, opened: Opened, capture: Capture
) -> None:
    path = root / "sessions" / "a.jsonl"
    path.write_bytes(session("x", runtime_checkpoint={"phase": "awaiting_tools"}))
    everything(capture)
    head = opened.repo.head()
    path.write_bytes(session("x", runtime_checkpoint={"phase": "tools_completed"}))
    assert [commit.kind for commit in everything(capture).commits] == [Kind.CHECKPOINT]
    assert opened.repo.head() == head


def test_a_mass_deletion_is_held_back_while_other_changes_go_on(
    root: Path, opened: Opened, capture: Capture
) -> None:
    for path in ("SOUL.md", "USER.md", "memory/MEMORY.md"):
        (root / path).unlink()
    (root / "notes.txt").write_text("x")
    outcome = everything(capture)
    assert outcome.held == ("SOUL.md", "USER.md", "memory/MEMORY.md")
    assert [commit.kind for commit in outcome.commits] == [Kind.EDIT]
    paths = capture.scan()
    confirmed = capture.run(paths, overdue=paths, allow_loss=True)
    assert [commit.kind for commit in confirmed.commits] == [Kind.DELETE]
    assert set(opened.repo.files(opened.repo.head())) == {"notes.txt"}


def test_a_missing_root_is_a_state(root: Path, capture: Capture) -> None:
    root.rename(root.with_name("away"))
    assert capture.run({"SOUL.md"}).missing == str(root)


def test_a_commit_of_somebody_else_in_between_is_built_upon(
    root: Path, opened: Opened, capture: Capture
) -> None:
    everything(capture)
    other = Capture(opened)
    (root / "SOUL.md").write_text("- by another process\n")
    everything(other)
    (root / "USER.md").write_text("- mine\n")
    assert len(everything(capture).commits) == 1
    assert len(subjects(opened)) == 3


def test_large_attachments_are_named_and_not_committed(root: Path, opened: Opened, capture: Capture) -> None:
    (root / "attachments").mkdir()
    (root / "attachments" / "big.bin").write_bytes(b"x" * (opened.settings.attachment_limit + 1))
    outcome = everything(capture)
    assert [finding.rule for finding in outcome.findings] == ["too-large"]
    assert outcome.commits == ()


def test_changed_patterns_count_at_once(root: Path, opened: Opened, capture: Capture) -> None:
    (root / ".gitmemignore").write_text("private/\n")
    (root / "private").mkdir()
    (root / "private" / "x.md").write_text("x")
    everything(capture)
    assert "private/x.md" not in opened.repo.files(opened.repo.head())
    (root / ".gitmemignore").write_text("")
    everything(capture)
    assert "private/x.md" in opened.repo.files(opened.repo.head())


def test_a_file_that_becomes_a_folder_and_back(root: Path, opened: Opened, capture: Capture) -> None:
    (root / "SOUL.md").unlink()
    (root / "SOUL.md").mkdir()
    (root / "SOUL.md" / "inner.md").write_text("x")
    everything(capture)
    assert {"SOUL.md/inner.md"} == {
        path for path in opened.repo.files(opened.repo.head()) if path.startswith("SOUL")
    }
    (root / "SOUL.md" / "inner.md").unlink()
    (root / "SOUL.md").rmdir()
    (root / "SOUL.md").write_text("back\n")
    everything(capture)
    assert opened.repo.file(opened.repo.head(), "SOUL.md") is not None
