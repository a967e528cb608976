"""A real daemon beside real files: what happens on disk is in history, whatever was lost on the way."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.core.model import Kind
from gitmem.edges import workspace
from gitmem.edges.repo import Repository
from tests.e2e.running import Daemon, eventually, gitmem, watching

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "sessions").mkdir()
    (root / "SOUL.md").write_text("# Soul\n- be kind\n")
    (root / "memory" / "MEMORY.md").write_text("# Memory\n" + "".join(f"- fact {n}\n" for n in range(40)))
    (root / "memory" / "history.jsonl").write_text(
        '{"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "x"}\n'
    )
    gitmem("init", root)
    return root


@pytest.fixture
def daemon(root: Path) -> Iterator[Daemon]:
    with watching(root) as running:
        yield running


def head_file(root: Path, path: str) -> bytes | None:
    with Repository(workspace.find(root).git) as repo:
        file = repo.file(repo.head(), path)
        return None if file is None else file.data


def commits(root: Path) -> list[tuple[Kind, str]]:
    with Repository(workspace.find(root).git) as repo:
        return [(info.kind, info.subject) for info in repo.history(repo.head())]


def committed(root: Path, path: str, data: bytes | None) -> None:
    eventually(f"{path} is committed", lambda: head_file(root, path) == data)


def save_session(root: Path, key: str, messages: int, **state: object) -> Path:
    head = {"_type": "metadata", "key": key, "metadata": state, "last_consolidated": 0}
    lines = [head, *({"role": ("user", "assistant")[n % 2], "content": f"m{n}"} for n in range(messages))]
    path = root / "sessions" / f"{key.replace(':', '_')}.jsonl"
    temporary = path.with_name(f".{path.name}.0123456789abcdef.tmp")
    temporary.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    os.replace(temporary, path)
    return path


def test_a_session_save_becomes_one_commit_that_names_it(root: Path, daemon: Daemon) -> None:
    path = save_session(root, "telegram:42", 2)
    committed(root, "sessions/telegram_42.jsonl", path.read_bytes())
    assert commits(root)[0] == (Kind.SESSION, "session(telegram:42): +2 messages (user, assistant)")


def test_sigterm_commits_what_is_pending(root: Path) -> None:
    with watching(root, env={"GITMEM_SETTLE": "60", "GITMEM_MAX_DELAY": "60"}) as daemon:
        (root / "SOUL.md").write_text("# Soul\n- be brave\n")
        assert daemon.end() == 0
    assert head_file(root, "SOUL.md") == b"# Soul\n- be brave\n"


def test_what_changed_while_nobody_watched_is_committed_at_the_start(root: Path) -> None:
    (root / "SOUL.md").write_text("# Soul\n- changed\n")
    with watching(root):
        committed(root, "SOUL.md", b"# Soul\n- changed\n")


def test_a_second_daemon_is_refused_and_says_who_holds_the_workspace(root: Path, daemon: Daemon) -> None:
    second = gitmem("watch", root, check=False)
    assert second.returncode == 11
    assert f"pid {daemon.pid}" in second.stderr


def test_one_daemon_keeps_several_workspaces(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "USER.md").write_text("a\n")
    gitmem("init", other)
    with watching(root, other):
        (other / "USER.md").write_text("b\n")
        (root / "SOUL.md").write_text("c\n")
        committed(other, "USER.md", b"b\n")
        committed(root, "SOUL.md", b"c\n")


def test_an_interrupted_turn_is_replayed_at_the_start(root: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "exec", "arguments": "{}"}}
    checkpoint = {
        "phase": "awaiting_tools",
        "iteration": 0,
        "assistant_message": {"role": "assistant", "content": "", "tool_calls": [call]},
        "completed_tool_results": [],
        "pending_tool_calls": [call],
    }
    path = save_session(root, "cli:direct", 1, runtime_checkpoint=checkpoint, pending_user_turn=True)
    os.utime(path, (1, 1))
    with watching(root):
        eventually("it is replayed", lambda: commits(root)[0][0] is Kind.REPLAY)
    assert commits(root)[0][1] == "replay(cli:direct): 1 assistant, 1 interrupted call"
    assert b"runtime_checkpoint" not in path.read_bytes()
    before = commits(root)
    with watching(root) as again:
        again.flush()
    assert commits(root) == before


def test_run_state_stays_off_the_branch_and_is_kept_in_flight(root: Path, daemon: Daemon) -> None:
    path = save_session(
        root, "cli:direct", 1, runtime_checkpoint={"phase": "awaiting_tools"}, pending_user_turn=True
    )
    with Repository(workspace.find(root).git) as repo:

        def in_flight() -> bool:
            refs = repo.refs.below("refs/gitmem/inflight/")
            return any(
                (file := repo.file(sha, "sessions/cli_direct.jsonl")) and file.data == path.read_bytes()
                for sha in refs.values()
            )

        eventually("the run state is in flight", in_flight)
    eventually("the message is on the branch", lambda: head_file(root, "sessions/cli_direct.jsonl"))
    data = head_file(root, "sessions/cli_direct.jsonl")
    assert data is not None
    assert b"m0" in data
    assert b"runtime_checkpoint" not in data


def test_b40_a_burst_of_files_ends_in_few_commits(root: Path, daemon: Daemon) -> None:
    folder = root / "skills" / "many"
    folder.mkdir(parents=True)
    for number in range(3000):
        (folder / f"{number}.md").write_text(f"{number}\n")
    committed(root, "skills/many/2999.md", b"2999\n")
    daemon.flush()
    with Repository(workspace.find(root).git) as repo:
        names = {path for path in repo.files(repo.head()) if path.startswith("skills/many/")}
    assert len(names) == 3000
    assert len(commits(root)) < 60


def test_b42_odd_files_do_not_stop_the_watch(root: Path, daemon: Daemon) -> None:
    (root / "memory" / "MEMORY.md").write_bytes(b"caf\xe9 \x92quote\x92\n" * 40)
    (root / "skills").mkdir()
    (root / "skills" / "big.bin").write_bytes(bytes(range(256)) * 100)
    broken = root / "sessions" / "broken.jsonl"
    broken.write_bytes(b'{"role": \n[]\n\xff\xfe\n')
    broken.unlink()
    os.mkfifo(root / "memory" / "pipe.md")
    (root / "SOUL.md").write_text("then\n")
    committed(root, "SOUL.md", b"then\n")
    committed(root, "memory/MEMORY.md", b"caf\xe9 \x92quote\x92\n" * 40)
    committed(root, "skills/big.bin", bytes(range(256)) * 100)


@pytest.mark.parametrize("turn", range(5))
def test_b43_files_made_right_after_their_folder_are_seen(root: Path, daemon: Daemon, turn: int) -> None:
    script = (
        "mkdir -p skills/a/b/c && printf 'deep\\n' > skills/a/b/c/SKILL.md && "
        "mkdir -p skills/copy && cp -R skills/a skills/copy/ && "
        "mkdir tmpd && printf 'moved in\\n' > tmpd/SKILL.md && mv tmpd skills/moved"
    )
    subprocess.run(["sh", "-ec", script], cwd=root, check=True)
    committed(root, "skills/a/b/c/SKILL.md", b"deep\n")
    committed(root, "skills/copy/a/b/c/SKILL.md", b"deep\n")
    committed(root, "skills/moved/SKILL.md", b"moved in\n")
    (root / "skills/a/b/c/SKILL.md").write_text("later\n")
    committed(root, "skills/a/b/c/SKILL.md", b"later\n")


def test_b45_reading_starts_no_work(root: Path, daemon: Daemon) -> None:
    daemon.flush()
    before = daemon.status()["counters"]
    for _ in range(20):
        for path in root.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                path.read_bytes()
    gitmem("status", "-C", root)
    after = daemon.status()["counters"]
    assert (after["batches"], after["commits"], after["scans"]) == (
        before["batches"],
        before["commits"],
        before["scans"],
    )


def test_b48_a_replaced_folder_is_watched_again(root: Path, daemon: Daemon) -> None:
    shutil.rmtree(root / "memory")
    (root / "memory").mkdir()
    (root / "memory" / "MEMORY.md").write_text("two\n" * 40)
    committed(root, "memory/MEMORY.md", b"two\n" * 40)
    (root / "memory").rename(root / "memory.old")
    (root / "memory").mkdir()
    (root / "memory" / "MEMORY.md").write_text("four\n" * 40)
    committed(root, "memory/MEMORY.md", b"four\n" * 40)
    (root / "memory" / "MEMORY.md").write_text("five\n" * 40)
    committed(root, "memory/MEMORY.md", b"five\n" * 40)


def test_b48_a_workspace_that_moves_away_is_a_state_and_no_deletion(root: Path, daemon: Daemon) -> None:
    before = commits(root)
    away = root.with_name("away")
    root.rename(away)
    eventually(
        "the daemon says so", lambda: (daemon.ask("status") or {"state": "missing"})["state"] == "missing"
    )
    (away / "SOUL.md").write_text("changed meanwhile\n")
    away.rename(root)
    committed(root, "SOUL.md", b"changed meanwhile\n")
    assert len(commits(root)) == len(before) + 1


def test_an_emptied_workspace_is_held_back_until_confirmed(root: Path, daemon: Daemon) -> None:
    for path in (root / "SOUL.md", root / "memory" / "MEMORY.md", root / "memory" / "history.jsonl"):
        path.unlink()
    eventually("it is held back", lambda: len(daemon.status()["held"]) == 3)
    assert head_file(root, "SOUL.md") == b"# Soul\n- be kind\n"
    assert gitmem("status", "--exit-code", "-C", root, check=False).returncode == 1
    gitmem("restore", ".", "--at", "HEAD", "-C", root)
    assert (root / "SOUL.md").read_text() == "# Soul\n- be kind\n"
    (root / "SOUL.md").unlink()
    (root / "memory" / "MEMORY.md").unlink()
    gitmem("confirm", "-C", root)
    assert head_file(root, "SOUL.md") is None


def test_b52_junk_around_a_file_is_neither_committed_nor_the_cause_of_a_commit(
    root: Path, daemon: Daemon
) -> None:
    daemon.flush()
    before = commits(root)
    junk = [
        ".MEMORY.md.swp",
        "MEMORY.md~",
        "4913",
        "#MEMORY.md#",
        ".goutputstream-AB12",
        "MEMORY.md.tmp",
        "MEMORY.md.bak",
        ".DS_Store",
    ]
    for name in [*junk, "~$MEMORY.md", "Thumbs.db", ".nfs000000000001"]:
        (root / "memory" / name).write_text("junk")
    (root / "memory" / "MEMORY.sync-conflict-20260105-090000-ABC.md").write_text("junk")
    os.symlink("user@host.123", root / "memory" / ".#MEMORY.md")
    (root / "sessions" / ".session-files.lock").write_text("junk")
    status = daemon.flush()
    assert commits(root) == before
    assert [finding["rule"] for finding in status["findings"]] == ["conflict-copy"]


def test_b22_truncate_then_write_is_one_commit_and_a_shrunken_file_is_flagged(
    root: Path, daemon: Daemon
) -> None:
    before = commits(root)
    path = root / "memory" / "MEMORY.md"
    path.write_bytes(b"")
    path.write_text("# Memory\n- only this\n")
    committed(root, "memory/MEMORY.md", b"# Memory\n- only this\n")
    assert len(commits(root)) == len(before) + 1
    assert [finding["rule"] for finding in daemon.status()["findings"]] == ["shrink"]
    gitmem("restore", "memory/MEMORY.md", "--at", "HEAD~1", "-C", root)
    assert path.read_text().count("- fact") == 40


def test_an_idle_daemon_makes_no_commit_and_hardly_wakes(root: Path, daemon: Daemon) -> None:
    daemon.flush()
    before = commits(root), daemon.status()["counters"]
    times = os.sysconf("SC_CLK_TCK"), cpu_ticks(daemon.pid)
    eventually("three seconds pass", waited(3.0))
    used = (cpu_ticks(daemon.pid) - times[1]) / times[0]
    assert commits(root) == before[0]
    assert daemon.status()["counters"]["batches"] == before[1]["batches"]
    assert used <= 0.1


def waited(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_start_status_stop_as_a_person_does(root: Path) -> None:
    try:
        assert "watching" in gitmem("start", root).stdout
        assert "already watching" in gitmem("start", root).stdout
        answer = json.loads(gitmem("status", "--json", "-C", root).stdout)
        assert answer["daemon"]["state"] == "watching"
        gitmem("notify", "session-saved", "-C", root)
    finally:
        assert "stopped" in gitmem("stop", "-C", root).stdout
    assert "no daemon" in gitmem("stop", "-C", root).stdout


def test_kill_during_work_loses_nothing(root: Path, daemon: Daemon) -> None:
    for number in range(5):
        (root / "SOUL.md").write_text(f"state {number}\n")
        daemon.end(signal.SIGKILL)
        daemon.start()
    committed(root, "SOUL.md", b"state 4\n")
    if shutil.which("git"):
        subprocess.run(["git", "-C", root, "fsck", "--full", "--strict"], check=True, capture_output=True)
