"""Real daemons of several machines that sync through one remote while agents write."""

import json
import shutil
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from gitmem.core import history
from gitmem.core.session import parse
from tests.e2e.running import Daemon, eventually, gitmem
from tests.engines import said, session_bytes

pytestmark = pytest.mark.slow
FAST = {"GITMEM_SESSION_HOT": "0.2", "GITMEM_PUSH_DELAY": "0.1"}


def files(root: Path) -> dict[str, bytes]:
    found = [
        p
        for p in root.rglob("*")
        if p.is_file() and ".git" not in p.parts and not p.name.endswith((".lock", ".tmp"))
    ]
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in found}


def env(name: str) -> dict[str, str]:
    return {**FAST, "GITMEM_HOST": name}


@pytest.fixture
def machines(tmp_path: Path) -> list[Path]:
    """Three machines: the first one's memory, cloned twice."""
    first = tmp_path / "a"
    (first / "memory").mkdir(parents=True)
    (first / "sessions").mkdir()
    (first / "memory" / "MEMORY.md").write_text("# Memory\n\n- one\n")
    gitmem("init", first, env=env("a"))
    hub = tmp_path / "hub.git"
    gitmem("-C", first, "remote", "add", "hub", hub, "--create", "--sync", env=env("a"))
    gitmem("-C", first, "sync", env=env("a"))
    for name in ("b", "c"):
        done = gitmem("clone", hub, tmp_path / name, env=env(name))
        assert "synced with hub" in done.stdout
    return [tmp_path / name for name in ("a", "b", "c")]


def test_three_machines_that_write_at_once_end_alike(machines: list[Path]) -> None:
    with ExitStack() as stack:
        daemons = [Daemon(root, env=env(root.name)) for root in machines]
        for daemon in daemons:
            stack.callback(daemon.close)
            daemon.start()
        for number in range(6):
            for root in machines:
                _write(root, number)
            if number == 3:
                daemons[1].end(signal.SIGKILL)
                daemons[1].start()
        texts = [f"- {root.name} {number}" for root in machines for number in range(6)]
        eventually("all facts are everywhere", lambda: all(_holds(root, texts) for root in machines), 90)
        eventually(
            "all end alike", lambda: files(machines[0]) == files(machines[1]) == files(machines[2]), 90
        )
        for daemon in daemons:
            daemon.end()
    heads = {gitmem("-C", root, "git", "rev-parse", "HEAD").stdout for root in machines}
    assert len(heads) == 1
    for root in machines:
        memory = (root / "memory" / "MEMORY.md").read_text()
        assert all(memory.count(f"{text}\n") == 1 for text in texts)
        entries = history.parse((root / "memory" / "history.jsonl").read_bytes()).entries
        assert len({entry.cursor for entry in entries}) == len(entries) == 18
        own = parse((root / "sessions" / f"cli_{root.name}.jsonl").read_bytes()).messages
        assert [message["content"] for message in own] == [f"m{n:02}" for n in range(6)]
        assert gitmem("-C", root, "git", "fsck", "--full", "--strict").returncode == 0


def _write(root: Path, number: int) -> None:
    """A fact, an entry and a message; each file is read first, as agents do."""
    memory = root / "memory" / "MEMORY.md"
    memory.write_text(memory.read_text() + f"- {root.name} {number}\n")
    queue, cursor = root / "memory" / "history.jsonl", root / "memory" / ".cursor"
    data = queue.read_bytes() if queue.exists() else b""
    taken = history.next_cursor(data, cursor.read_bytes() if cursor.exists() else None)
    with queue.open("ab") as stream:
        stream.write(history.record(taken, "2026-01-05 09:00", f"{root.name} {number}") + b"\n")
    cursor.write_text(str(taken))
    path = root / "sessions" / f"cli_{root.name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    known = list(parse(path.read_bytes()).messages) if path.exists() else []
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(session_bytes(f"cli:{root.name}", [*known, said(number)]))
    temporary.replace(path)


def _holds(root: Path, texts: list[str]) -> bool:
    memory = (root / "memory" / "MEMORY.md").read_text()
    return all(f"{text}\n" in memory for text in texts)


def test_a_save_is_on_the_other_machine_within_seconds_and_an_outage_is_made_up_for(
    machines: list[Path], tmp_path: Path
) -> None:
    a, b, _ = machines
    hub, away = tmp_path / "hub.git", tmp_path / "away.git"
    with ExitStack() as stack:
        daemons = [Daemon(root, env=env(root.name)) for root in (a, b)]
        for daemon in daemons:
            stack.callback(daemon.close)
            daemon.start()
        (a / "USER.md").write_text("- tea\n")
        eventually("it is there", (b / "USER.md").exists, 60)
        hub.rename(away)
        (a / "USER.md").write_text("- tea\n- rows\n")
        eventually("a says so", lambda: daemons[0].status()["remotes"]["hub"]["error"], 60)
        away.rename(hub)
        gitmem("-C", a, "sync", env=env("a"))
        gitmem("-C", b, "sync", env=env("b"))
        assert (b / "USER.md").read_text() == "- tea\n- rows\n"


def test_a_person_sees_conflicts_and_settles_them_for_all_machines(machines: list[Path]) -> None:
    a, b, _ = machines
    for root, text in ((a, "- one of a\n"), (b, "- one of b\n")):
        (root / "memory" / "MEMORY.md").write_text(f"# Memory\n\n{text}")
    gitmem("-C", a, "sync", env=env("a"))
    assert "to take in" in gitmem("-C", b, "sync", "--dry-run", env=env("b")).stdout
    assert "see: gitmem conflicts" in gitmem("-C", b, "sync", env=env("b")).stdout
    gitmem("-C", a, "sync", env=env("a"))
    listed = json.loads(gitmem("-C", a, "conflicts", "--json", env=env("a")).stdout)["conflicts"]
    assert [item["path"] for item in listed] == ["memory/MEMORY.md"]
    assert "one of b" in gitmem("-C", a, "conflicts", "show", listed[0]["id"][:6], env=env("a")).stdout
    assert (
        "conflict: settled" in gitmem("-C", a, "conflicts", "resolve", listed[0]["id"], env=env("a")).stdout
    )
    gitmem("-C", a, "sync", env=env("a"))
    gitmem("-C", b, "sync", env=env("b"))
    for root in (a, b):
        assert "No conflicts." in gitmem("-C", root, "conflicts", env=env(root.name)).stdout
    assert files(a) == files(b)


def test_clone_refuses_a_folder_that_is_not_empty(machines: list[Path], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x.md").write_text("x")
    done = gitmem("clone", tmp_path / "hub.git", tmp_path / "full", check=False)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    shutil.rmtree(tmp_path / "full")
