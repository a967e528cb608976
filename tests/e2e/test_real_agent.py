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
from tests.e2e.running import gitmem, watching

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


def outside_sessions(agent: Path) -> list[Path]:
    """The session folder of an agent that keeps its sessions outside its workspace."""
    return sorted((agent / "cfg" / "sessions").glob("[0-9a-f]*"))[:1]


def take_up(recorded: Path, name: str, place: Path) -> Path:
    """A recorded workspace, put under history by the command."""
    shutil.copytree(recorded / name, place, symlinks=True)
    for path in place.rglob("*.jsonl"):
        os.utime(path, (1, 1))
    outside = outside_sessions(place)
    gitmem("init", place / "ws", *(["--sessions", outside[0]] if outside else []))
    return place / "ws"


def state_of(root: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    with open_workspace(workspace.find(root)) as opened:
        return opened.repo.refs.below("refs/"), disk(opened)


@pytest.mark.parametrize("name", NAMES)
def test_a_daemon_keeps_a_recorded_workspace(recorded: Path, tmp_path: Path, name: str) -> None:
    root = take_up(recorded, name, tmp_path / "agent")
    own, target = below(root / ".git"), tmp_path / "backup.git"
    with watching(root) as daemon:
        daemon.flush()
    first = state_of(root)
    for path, data in first[1].items():
        if path.startswith("sessions/") and path.endswith(".jsonl"):
            assert not checkpoint.has_run_state(data), path
            assert session.is_legal(session.parse(data).messages), path
    with watching(root) as daemon:
        daemon.flush()
        assert state_of(root) == first
        user = (root / "USER.md").read_bytes()
        (root / "USER.md").write_bytes(user + b"- a line of today\n")
        daemon.flush()
        gitmem("revert", "HEAD", "-C", root)
        assert (root / "USER.md").read_bytes() == user
        gitmem("restore", "USER.md", "--at", "HEAD~1", "-C", root)
        assert (root / "USER.md").read_bytes() == user + b"- a line of today\n"
        gitmem("remote", "add", "backup", target, "--create", "-C", root)
        gitmem("push", "-C", root)
        daemon.flush()
    with open_workspace(workspace.find(root)) as opened:
        history = list(opened.repo.history(opened.repo.head()))
        assert [info.kind for info in history[:3]] == [Kind.RESTORE, Kind.REVERT, Kind.EDIT]
        assert history[2].subject == "edit(USER.md): +1"
    assert below(root / ".git") == own


STORY = ("plain", "tool", "killslow", "restart", "consol", "compact", "dream")
"""What happened to one workspace, in this order."""


def overwrite(source: Path, root: Path) -> None:
    """Bring a folder to the state of another, as an agent does: file by file, what is gone removed."""
    for path in sorted(root.rglob("*"), reverse=True):
        below_root = path.relative_to(root)
        if ".git" not in below_root.parts and path.is_file() and not (source / below_root).exists():
            path.unlink()
    for path in sorted(source.rglob("*")):
        place = root / path.relative_to(source)
        if ".git" in path.relative_to(source).parts or not path.is_file():
            continue
        if not place.exists() or place.read_bytes() != path.read_bytes():
            place.parent.mkdir(parents=True, exist_ok=True)
            temporary = place.with_name(f".{place.name}.0123456789abcdef.tmp")
            shutil.copyfile(path, temporary)
            os.replace(temporary, place)


def test_a_daemon_tells_the_story_of_a_workspace_as_a_person_would(recorded: Path, tmp_path: Path) -> None:
    root = take_up(recorded, "0.2.2-init", tmp_path / "agent")
    told: dict[str, list[str]] = {}
    # a grace long enough that no turn is taken for interrupted while the story goes on
    with watching(root, env={"GITMEM_CHECKPOINT_GRACE": "3600"}) as daemon:
        daemon.flush()
        for scenario in STORY:
            before = head(root)
            overwrite(recorded / f"0.2.2-{scenario}" / "ws", root)
            daemon.flush()
            told[scenario] = since(root, before)
    assert told == {
        "plain": ["session(cli:direct): +2 messages (user, assistant)"],
        "tool": [
            "session(cli:direct): +7 messages (1 user, 3 assistant, 3 tool)",
            "edit(notes.md): new, +1",
        ],
        "killslow": [
            "session(cli:kill): +1 message (user)",
            "session(cli:killslow): +1 message (user)",
        ],
        "restart": [
            "session(cli:kill): +5 messages (2 assistant, 2 tool, 1 user)",
            "session(cli:kill2): +5 messages (2 user, 2 assistant, 1 tool)",
        ],
        "consol": ["consolidate(cli:big): messages 0..14 -> history 1..2"],
        "compact": ["consolidate(cli:direct): messages 0..2 -> history 3"],
        "dream": [
            "dream: history 1..3 -> USER.md +2, MEMORY.md +1",
            "session(cli:direct): +2 messages (user, assistant)",
        ],
    }


def head(root: Path) -> str | None:
    with open_workspace(workspace.find(root)) as opened:
        return opened.repo.head()


def since(root: Path, before: str | None) -> list[str]:
    """Subjects of the commits after one, oldest first."""
    with open_workspace(workspace.find(root)) as opened:
        found: list[str] = []
        for info in opened.repo.history(opened.repo.head()):
            if info.sha == before:
                break
            found.insert(0, info.subject)
        return found
