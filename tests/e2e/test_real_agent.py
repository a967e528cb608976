"""Workspaces written by real releases of a real agent: taken up, replayed, reverted and pushed, its own repository untouched.

They lie beside the repository where they are handed out, and the tests are skipped elsewhere.
"""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.actions import begin, undo
from gitmem.core import checkpoint, session
from gitmem.core.model import Kind
from gitmem.edges import bare, remotes, workspace
from gitmem.edges.opened import Opened, open_workspace
from gitmem.edges.remote import push
from gitmem.rounds import Rounds

ARCHIVE = Path(__file__).parents[3] / "shared" / "fixtures" / "nanobot-workspaces.tar.gz"
NAMES: list[str] = []
if ARCHIVE.is_file():
    with tarfile.open(ARCHIVE) as archive:
        NAMES = sorted({name.removeprefix("./").split("/")[0] for name in archive.getnames()} - {"", "."})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NAMES, reason="the recorded workspaces are not beside this repository"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def taken_up(recorded: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    shutil.copytree(recorded / request.param, tmp_path / "agent", symlinks=True)
    root = tmp_path / "agent" / "ws"
    outside = sorted((tmp_path / "agent" / "cfg" / "sessions").glob("[0-9a-f]*"))
    place = begin.begin(begin.plan(root, None, outside[0] if outside else None, adopt=False, separate=False))
    for path in tmp_path.rglob("*.jsonl"):
        os.utime(path, (1, 1))
    with open_workspace(workspace.find(place.directory)) as opened:
        yield opened


def start(opened: Opened) -> None:
    """What the daemon does at its start."""
    rounds = Rounds(opened)
    rounds.start()
    rounds.flush()
    assert rounds.problem is None


def disk(opened: Opened) -> dict[str, bytes]:
    found = {path: opened.read(path).file for path, _ in opened.walk()}
    return {path: file.data for path, file in found.items() if file is not None}


def below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("taken_up", NAMES, indirect=True)
def test_a_recorded_workspace(taken_up: Opened, tmp_path: Path) -> None:
    opened = taken_up
    own = below(opened.workspace.directory / ".git")
    assert opened.workspace.layout.agent == "nanobot"
    start(opened)
    for path, data in disk(opened).items():
        if path.startswith("sessions/") and path.endswith(".jsonl"):
            assert not checkpoint.is_mid_turn(data)
            assert session.is_legal(session.parse(data).messages), path

    refs, files = opened.repo.refs.below("refs/"), disk(opened)
    start(opened)
    assert (opened.repo.refs.below("refs/"), disk(opened)) == (refs, files)

    soul = opened.workspace.directory / "SOUL.md"
    before = soul.read_bytes()
    soul.write_bytes(before + b"- a line of today\n")
    start(opened)
    head = opened.repo.head()
    assert head is not None
    assert opened.repo.info(head).kind is Kind.EDIT
    undo.apply(opened, undo.plan_revert(opened, [opened.repo.info(head)]), force=True)
    assert soul.read_bytes() == before

    target = bare.create(tmp_path / "backup.git")
    remote = remotes.add(opened.repo.git.control, "backup", str(target))
    assert push(opened.repo.git.control, remote, deadline=60).changed
    tree = opened.repo.files(opened.repo.head())
    assert not [path for path in tree if ".nanobot" in path or path.endswith((".lock", ".tmp"))]
    assert below(opened.workspace.directory / ".git") == own
    if shutil.which("git"):
        for place in (opened.repo.git.control, target):
            subprocess.run(
                ["git", f"--git-dir={place}", "fsck", "--full", "--strict"], check=True, capture_output=True
            )
