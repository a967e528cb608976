"""Five writers, a few thousand saves, a daemon killed at random moments: nothing settled is lost, and git agrees."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitmem.edges import workspace
from gitmem.edges.repo import Repository
from tests.e2e.running import Daemon, gitmem, watching

WRITERS = ("session", "session", "history", "markdown", "markdown")
SAVES = 800
SETTLED = 1.2
"""Seconds: twice max_delay and a bit, for a state that must have been committed while it stood."""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_soak_with_kills_loses_no_settled_state(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    for folder in ("sessions", "memory"):
        (root / folder).mkdir(parents=True)
    (root / "SOUL.md").write_text("# Soul\n")
    gitmem("init", root)
    logs = [tmp_path / f"log{number}" for number in range(len(WRITERS))]
    chance = random.Random(7)
    down: list[tuple[float, float]] = []
    with watching(root) as daemon:
        writers = [
            subprocess.Popen(
                [
                    sys.executable,
                    Path(__file__).with_name("writers.py"),
                    kind,
                    root,
                    str(number),
                    str(SAVES),
                    logs[number],
                ]
            )
            for number, kind in enumerate(WRITERS)
        ]
        while any(writer.poll() is None for writer in writers):
            time.sleep(chance.uniform(1.0, 5.0))
            down.append(kill_and_start(daemon))
        assert [writer.returncode for writer in writers] == [0] * len(WRITERS)
        daemon.flush()
        assert daemon.end() == 0

    states = [line.split() for log in logs for line in log.read_text().splitlines()]
    assert len(states) == SAVES * len(WRITERS)
    with Repository(workspace.find(root).git) as repo:
        tree = {path: repo.read(entry).data for path, entry in repo.files(repo.head()).items()}
        assert tree == {path.relative_to(root).as_posix(): path.read_bytes() for path in on_disk(root)}
        known = {
            change.new.sha
            for commit in repo.history(repo.head())
            for change in repo.changes(commit.sha)
            if change.new
        }
    last = {path: sha for path, sha, _, _ in states}
    assert set(last.values()) <= known
    settled = {
        (path, sha)
        for path, sha, since, until in states
        if stood_long_enough(float(since), float(until), down)
    }
    assert settled
    assert {(path, sha) for path, sha in settled if sha not in known} == set()
    if shutil.which("git"):
        checked = subprocess.run(
            ["git", "-C", root, "fsck", "--full", "--strict"], capture_output=True, check=True
        )
        assert b"error" not in checked.stdout + checked.stderr


def kill_and_start(daemon: Daemon) -> tuple[float, float]:
    """When the daemon was not there, or not yet done with what it found at its start."""
    since = time.time()
    daemon.end(signal.SIGKILL)
    daemon.start()
    return since, time.time()


def stood_long_enough(since: float, until: float, down: list[tuple[float, float]]) -> bool:
    """Whether a daemon that was up all the time had the state before it for long enough."""
    start = max([since, *(end for begin, end in down if begin < until and end > since)])
    return until - start > SETTLED


def on_disk(root: Path) -> list[Path]:
    return [
        path
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts and not path.name.endswith(".tmp")
    ]
