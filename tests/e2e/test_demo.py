"""The README's first command, and the hook, do what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.edges import workspace
from tests.e2e.running import eventually, gitmem, watching

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_demo_runs_to_its_end_and_leaves_no_daemon(tmp_path: Path) -> None:
    words: list[str | Path] = [sys.executable, ROOT / "scripts" / "demo.py", "--keep", tmp_path / "demo"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("replay(cli:packing)", "dream: history 3..5", "revert: undo dream", "stopped (pid"):
        assert text in done.stdout
    user = (tmp_path / "demo" / "workspace" / "USER.md").read_text("utf-8")
    assert "Never flies" not in user


@pytest.mark.slow
def test_the_hook_closes_the_quiet_window(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "SOUL.md").write_text("- one\n")
    gitmem("init", root)
    hook: list[str | Path] = [sys.executable, ROOT / "hooks" / "notify" / "gitmem_notify.py"]
    with watching(root, env={"GITMEM_SETTLE": "60", "GITMEM_MAX_DELAY": "60"}) as daemon:
        (root / "SOUL.md").write_text("- two\n")
        subprocess.run([*hook, root, "session-saved"], check=True)
        eventually("it is committed", lambda: daemon.status()["counters"]["commits"] == 1)
        subprocess.run([*hook, workspace.find(root).git.control], check=True)
    silent = subprocess.run([*hook, root, "x"], capture_output=True, check=True)
    assert silent.stdout + silent.stderr == b""
    subprocess.run(hook, check=True)
