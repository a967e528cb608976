"""Backups by a real daemon: commits arrive by themselves, and a remote in trouble never gets in the way."""

import json
import time
from pathlib import Path

import pytest

from gitmem.edges import bare, workspace
from gitmem.edges.gitdir import resolve
from gitmem.edges.repo import Repository
from tests.e2e.running import eventually, gitmem, watching
from tests.e2e.servers import tarpit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "SOUL.md").write_text("- one\n")
    gitmem("init", root)
    return root


def tip(path: Path) -> str | None:
    with Repository(resolve(path)) as repo:
        return repo.head()


def here(root: Path) -> str | None:
    return tip(workspace.find(root).git.control)


def test_commits_arrive_at_a_remote_by_themselves(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.git"
    with watching(root) as daemon:
        gitmem("remote", "add", "backup", target, "--create", "-C", root)
        (root / "SOUL.md").write_text("- two\n")
        eventually("it is committed", lambda: daemon.status()["counters"]["commits"] > 0)
        eventually("it is pushed", lambda: tip(target) == here(root))
        eventually(
            "status says so", lambda: daemon.status()["remotes"].get("backup", {}).get("state") == "ok"
        )
    answer = json.loads(gitmem("status", "--json", "-C", root).stdout)
    assert answer["remotes"]["backup"]["ahead"] is False


def test_a_commit_made_during_a_push_is_pushed_too(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.git"
    gitmem("remote", "add", "backup", target, "--create", "-C", root)
    with watching(root) as daemon:
        for number in range(8):
            (root / "SOUL.md").write_text(f"- {number}\n")
            daemon.flush()
        eventually("the last one is pushed", lambda: tip(target) == here(root))


def test_b34_a_remote_that_never_answers_blocks_neither_commits_nor_the_end(root: Path) -> None:
    with tarpit() as port, watching(root, env={"GITMEM_PUSH_DEADLINE": "3"}) as daemon:
        gitmem("remote", "add", "far", f"http://127.0.0.1:{port}/x.git", "-C", root)
        (root / "SOUL.md").write_text("- two\n")
        eventually("it is committed", lambda: daemon.status()["counters"]["commits"] > 0)
        eventually(
            "a push hangs", lambda: daemon.status()["remotes"].get("far", {}).get("state") == "pushing"
        )
        (root / "SOUL.md").write_text("- three\n")
        eventually("commits go on", lambda: daemon.status()["counters"]["commits"] > 1)
        started = time.monotonic()
        assert daemon.end() == 0
        assert time.monotonic() - started < 10


def test_b28_a_diverged_remote_is_named_and_left_as_it_is(root: Path, tmp_path: Path) -> None:
    target = bare.create(tmp_path / "backup.git")
    gitmem("remote", "add", "backup", target, "-C", root)
    gitmem("push", "-C", root)
    other = tmp_path / "other"
    other.mkdir()
    (other / "SOUL.md").write_text("- somebody else's\n")
    gitmem("init", other)
    gitmem("remote", "add", "b", bare.create(tmp_path / "b.git"), "-C", other)
    gitmem("push", "-C", other)
    (tmp_path / "backup.git").rename(tmp_path / "gone.git")
    (tmp_path / "b.git").rename(tmp_path / "backup.git")
    theirs = tip(tmp_path / "backup.git")
    refused = gitmem("push", "-C", root, check=False)
    assert refused.returncode == 1
    assert "diverged" in refused.stdout
    assert tip(tmp_path / "backup.git") == theirs
