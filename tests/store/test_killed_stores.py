"""A process killed at any of its disk operations: what it was writing is old or new, and the next one goes on."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.store import HistoryStore, MemoryStore, SessionStore
from tests.crash.killing import kill_points
from tests.engines import said, talk

OLD = b"[2025-12-01 09:00] Mara likes tea.\n\n[2025-12-02 10:00] The server moved.\n"


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.endswith((".lock", ".tmp"))
    }


def killed_everywhere(
    root: Path, work: Callable[[], object], check: Callable[[dict[str, bytes]], None]
) -> int:
    """Kill `work` before each of its operations, and check with the files as they were before it. The number of kills."""
    shutil.copytree(root, root.with_name("before"))
    before = files(root)
    points = 0
    for _ in kill_points(work):
        points += 1
        check(before)
        shutil.rmtree(root)
        shutil.copytree(root.with_name("before"), root)
    return points


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a session, a queue that a Dream has read half of, and facts."""
    root = tmp_path / "ws"
    sessions = SessionStore(root)
    sessions.save(replace(sessions.load("k:x"), messages=tuple(talk(3))))
    history = HistoryStore(root)
    for number in range(6):
        history.append(f"entry {number}")
    (root / "memory" / ".dream_cursor").write_text("3")
    (root / "memory" / "MEMORY.md").write_text("- a\n")
    return root


@pytest.mark.parametrize("fsync", [True, False])
def test_a_save_is_old_or_new_and_can_be_made_again(root: Path, *, fsync: bool) -> None:
    def save() -> None:
        store = SessionStore(root, fsync=fsync)
        store.update("k:x", lambda known: replace(known, messages=(*known.messages, said(9))))

    def check(before: dict[str, bytes]) -> None:
        now = SessionStore(root).load("k:x")
        assert [message["content"] for message in now.messages[:6]] == [f"m0{number}" for number in range(6)]
        assert len(now.messages) in (6, 7)
        assert len(now.messages) == 7 or files(root) == before
        save()
        assert SessionStore(root).load("k:x").messages[-1]["content"] == "m09"
        assert [info.key for info in SessionStore(root).list()] == ["k:x"]

    assert killed_everywhere(root, save, check) >= 2


def test_a_first_save_is_there_or_not(root: Path) -> None:
    def save() -> None:
        store = SessionStore(root)
        store.save(replace(store.load("k:new"), messages=(said(1),)))

    def check(before: dict[str, bytes]) -> None:
        assert files(root).items() >= before.items()
        assert {info.key: info.messages for info in SessionStore(root).list()}.get("k:new", 1) == 1
        assert [info.problems for info in SessionStore(root).list() if info.problems] == []

    assert killed_everywhere(root, save, check) >= 3


def test_a_fork_is_there_whole_or_not_at_all(root: Path) -> None:
    def check(before: dict[str, bytes]) -> None:
        assert files(root).items() >= before.items()
        assert {info.key: info.messages for info in SessionStore(root).list()}.get("k:y", 2) == 2

    assert killed_everywhere(root, lambda: SessionStore(root).fork("k:x", 2, "k:y"), check) >= 3


def test_a_deleted_session_leaves_no_checkpoint_for_the_next(root: Path) -> None:
    beside = root / "sessions" / "k_x.checkpoint.json"
    beside.write_text("{}")

    def check(before: dict[str, bytes]) -> None:
        assert (root / "sessions" / "k_x.jsonl").exists() or not beside.exists()

    assert killed_everywhere(root, lambda: SessionStore(root).delete("k:x"), check) >= 3


def test_an_append_gives_out_no_number_twice_and_loses_no_entry(root: Path) -> None:
    def check(before: dict[str, bytes]) -> None:
        assert files(root)["memory/history.jsonl"].startswith(before["memory/history.jsonl"])
        store = HistoryStore(root)
        known = store.entries()
        assert store.append("after").cursor == known[-1].cursor + 1
        cursors = [entry.cursor for entry in store.entries()]
        assert cursors == sorted(set(cursors))

    assert killed_everywhere(root, lambda: HistoryStore(root).append("x"), check) >= 5


def test_a_compaction_drops_only_what_was_dreamed_and_no_number_comes_back(root: Path) -> None:
    (root / "memory" / ".cursor").unlink()

    def check(before: dict[str, bytes]) -> None:
        store = HistoryStore(root)
        assert [entry.cursor for entry in store.entries()] in ([1, 2, 3, 4, 5, 6], [4, 5, 6])
        assert store.dream_cursor == 3
        store.compact(0)
        assert [entry.cursor for entry in store.entries()] == [4, 5, 6]
        assert store.append("x").cursor == 7

    assert killed_everywhere(root, lambda: HistoryStore(root).compact(0), check) >= 5


@pytest.mark.parametrize("then", ["migrate", "append"])
def test_a_migration_goes_on_whatever_comes_next(tmp_path: Path, then: str) -> None:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "HISTORY.md").write_bytes(OLD)

    def check(before: dict[str, bytes]) -> None:
        store = HistoryStore(root)
        added = store.append("new") if then == "append" else None
        store.migrate()
        texts = [entry.content for entry in store.entries()]
        assert [text for text in texts if text != "new"] in (["Mara likes tea.", "The server moved."], [])
        assert added is None or added in [
            replace(entry, number=0) for entry in store.after(store.dream_cursor)
        ]
        if len(texts) > 1:
            assert files(root)["memory/HISTORY.md.bak"] == OLD
            assert store.dream_cursor == 2
            assert store.append("next").cursor == len(texts) + 1
        else:
            assert files(root)["memory/HISTORY.md"] == OLD  # in use before anything was taken over

    assert killed_everywhere(root, lambda: HistoryStore(root).migrate(), check) >= 8


def test_a_fact_is_added_whole_or_not_at_all(root: Path) -> None:
    def write() -> None:
        store = MemoryStore(root)
        known = store.read("memory/MEMORY.md")
        store.write(known, known.text + "- b\n")

    def check(before: dict[str, bytes]) -> None:
        assert (root / "memory" / "MEMORY.md").read_text() in ("- a\n", "- a\n- b\n")
        write()
        assert "- b\n" in (root / "memory" / "MEMORY.md").read_text()

    assert killed_everywhere(root, write, check) >= 3
