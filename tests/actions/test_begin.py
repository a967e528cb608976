"""Where a workspace's repository goes, and what a copied folder may not bring along."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitmem.actions import begin
from gitmem.edges import remotes, workspace
from gitmem.errors import NoWorkspace, UsageError

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="plain git is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "SOUL.md").write_text("- one\n")
    return folder


def start(folder: Path, **options: object) -> workspace.Workspace:
    adopt, separate = bool(options.get("adopt")), bool(options.get("separate"))
    return begin.begin(begin.plan(folder, None, None, adopt=adopt, separate=separate))


def test_the_repository_lies_in_the_folder_when_nothing_speaks_against_it(folder: Path) -> None:
    made = start(folder)
    assert made.git.control == folder / ".git"
    assert workspace.find(folder / "deep" / "down") == made
    assert start(folder) == made


@needs_git
def test_b12_a_repository_that_is_there_is_left_alone(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", folder.parent], check=True)
    (folder / ".gitignore").write_text("*.log")
    made = start(folder)
    assert made.separate
    assert not (folder / ".git").exists()
    assert (folder / ".gitignore").read_text() == "*.log"
    assert not made.adopted


@needs_git
def test_an_existing_repository_is_adopted_on_request_only(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", folder], check=True)
    assert start(folder, adopt=True).git.control == folder / ".git"
    with pytest.raises(UsageError):
        begin.plan(folder.parent, None, None, adopt=True, separate=False)


def test_a_beginning_that_was_interrupted_is_taken_up_again(folder: Path) -> None:
    made = start(folder)
    (made.git.state / "workspace.json").unlink()
    assert start(folder).git.control == folder / ".git"


def test_a_copied_folder_brings_no_remote_and_no_session_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = start(folder)
    (tmp_path / "backup").mkdir()
    remotes.add(made.git.control, "backup", str(tmp_path / "backup"))
    record = made.git.state / "workspace.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "sessions": "/etc"}))
    monkeypatch.setenv("GITMEM_STATE_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(NoWorkspace, match="another machine"):
        workspace.find(folder)
    again = start(folder)
    assert again.git.control == folder / ".git"
    assert again.layout.mapped == {}
    assert remotes.load(again.git.control) == []
    assert (again.git.state / "remotes.json.foreign").exists()


def test_the_name_of_the_machine_is_private(folder: Path) -> None:
    start(folder)
    path = workspace.state_home() / "machine"
    assert path.stat().st_mode & 0o077 == 0
    assert os.environ["GITMEM_STATE_DIR"] in str(path)
