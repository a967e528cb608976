"""The README's first command, and the hook, do what they say."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.edges import process, workspace
from tests.e2e.running import eventually, gitmem, watching

ROOT = Path(__file__).parent.parent.parent
DEMO: list[str | Path] = [sys.executable, ROOT / "scripts" / "demo.py"]
HOOK: list[str | Path] = [sys.executable, ROOT / "hooks" / "notify.py"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def pid_of_daemon(text: str) -> int:
    found = re.search(r"watching .* \(pid (\d+)\)", text)
    assert found is not None
    return int(found[1])


def test_the_demo_runs_to_its_end_and_leaves_no_daemon(tmp_path: Path) -> None:
    words = [*DEMO, "--keep", tmp_path / "demo"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in (
        "replay(cli:packing): 1 assistant, 1 tool result, 1 interrupted call",
        "session(cli:reading): +4 messages",
        "consolidate(telegram:42): messages 4..10 -> history 5",
        "dream: history 3..5",
        "ATTENTION: memory/MEMORY.md: 10 entries removed of 10",
        "revert: undo dream",
        "stopped (pid",
    ):
        assert text in done.stdout
    memory = (tmp_path / "demo" / "workspace" / "memory" / "MEMORY.md").read_text("utf-8")
    assert "guillotine" in memory
    assert "212 GB" not in memory
    assert not process.alive(pid_of_daemon(done.stdout))


def test_the_demo_works_inside_a_repository_and_with_settings_of_its_user(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    environment = {**os.environ, "GITMEM_SETTLE": "60", "GITMEM_MAX_DELAY": "60"}
    words = [*DEMO, "--keep", tmp_path / "demo"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lies inside the repository" in done.stdout


def test_the_demo_ends_its_daemon_when_it_is_ended_itself(tmp_path: Path) -> None:
    with subprocess.Popen([*DEMO, "--keep", tmp_path / "demo"], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        said = ""
        while "An agent works" not in said:
            line = demo.stdout.readline()
            assert line, said
            said += line
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(60) == 128 + signal.SIGTERM
    assert not process.alive(pid_of_daemon(said))


def test_the_demo_fails_when_a_step_fails(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    shutil.copytree(ROOT / "scripts", scripts)
    shutil.copytree(ROOT / "sample_workspace", tmp_path / "sample_workspace")
    (scripts / "agent.py").write_text("raise SystemExit(5)\n")
    words: list[str | Path] = [sys.executable, scripts / "demo.py", "--keep", tmp_path / "demo"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ended with 5" in done.stderr
    assert not process.alive(pid_of_daemon(done.stdout))


@pytest.mark.parametrize("apart", [False, True])
def test_the_hook_closes_the_quiet_window(tmp_path: Path, apart: bool) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "SOUL.md").write_text("- one\n")
    gitmem("init", root, *(["--separate"] if apart else []))
    place: list[str | Path] = ["--state", workspace.find(root).git.state] if apart else [root]
    with watching(root, env={"GITMEM_SETTLE": "60", "GITMEM_MAX_DELAY": "60"}) as daemon:
        (root / "SOUL.md").write_text("- two\n")
        subprocess.run([*HOOK, *place, "session-saved", "cli:x"], check=True)
        eventually("it is committed", lambda: daemon.status()["counters"]["commits"] == 1)


@pytest.mark.parametrize(
    "words", [[], ["--state"], ["nowhere", "saved"], ["--state", "nowhere", "a", "b", "c"]]
)
def test_the_hook_is_silent_when_nobody_listens(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run([*HOOK, *words], capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
