"""The history store: numbers rise and are never given out twice, whatever others do to the file."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitmem.core import history
from gitmem.store import HistoryStore
from tests.crash.killing import kill_points

ODD = (
    b'{"cursor": 1, "timestamp": "2026-01-05 09:00", "content": "one"}\n'
    b'{"cursor": "2026-01-05T09:01", "timestamp": "x", "content": "iso"}\n{"cursor": true, "timestamp": "x", "content": "b"}\n'
    b'{"cursor": 2.5, "timestamp": "x", "content": "f"}\n{"cursor": 6, "timestamp": "x", "content": ["list"]}\nnot json\n'
    b'{"cursor": 5, "timestamp": "2026-01-05 09:05", "content": "five"}\n'
)


@pytest.fixture
def store(tmp_path: Path) -> HistoryStore:
    (tmp_path / "memory").mkdir()
    return HistoryStore(tmp_path)


def write(root: Path, data: bytes, cursor: str = "", dreamed: str = "") -> None:
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory" / "history.jsonl").write_bytes(data)
    for name, text in ((".cursor", cursor), (".dream_cursor", dreamed)):
        if text:
            (root / "memory" / name).write_text(text)


def test_b01_odd_lines_are_kept_and_listed_and_their_numbers_are_not_used_again(
    tmp_path: Path, store: HistoryStore
) -> None:
    write(tmp_path, ODD)
    assert [entry.cursor for entry in store.entries()] == [1, 5]
    assert len(store.problems()) == 5
    assert store.append("new", "cli:x").cursor == 7
    assert (tmp_path / "memory" / "history.jsonl").read_bytes().startswith(ODD)
    assert (tmp_path / "memory" / ".cursor").read_text() == "7"


def test_a_record_is_never_glued_to_a_torn_one(tmp_path: Path, store: HistoryStore) -> None:
    write(tmp_path, b'{"cursor": 3, "timest')
    assert store.append("new").cursor == 4
    assert [entry.content for entry in store.entries()] == ["new"]


def test_a_lost_or_broken_counter_costs_nothing(tmp_path: Path, store: HistoryStore) -> None:
    store.append("one")
    (tmp_path / "memory" / ".cursor").write_text("")
    assert store.append("two").cursor == 2
    (tmp_path / "memory" / ".cursor").write_text("40")
    assert store.append("three").cursor == 41


def test_thinking_is_left_out_and_length_is_limited(store: HistoryStore) -> None:
    assert store.append("<think>hm</think>likes tea").content == "likes tea"
    assert len(store.append("x" * 70_000).content) == history.MAX_CONTENT
    assert len(store.append("x" * 70_000, limit=history.MAX_SUMMARY).content) == history.MAX_SUMMARY


def test_reading_after_a_cursor_and_searching(store: HistoryStore) -> None:
    for text in ("Tea", "rain", "more tea"):
        store.append(text)
    assert [entry.content for entry in store.after(1)] == ["rain", "more tea"]
    assert [entry.cursor for entry in store.search("TEA")] == [1, 3]


def test_b03_compaction_keeps_what_no_dream_has_seen(tmp_path: Path, store: HistoryStore) -> None:
    for number in range(60):
        store.append(f"entry {number}")
    (tmp_path / "memory" / ".dream_cursor").write_text("5")
    assert store.compact(20) == 5
    assert [entry.cursor for entry in store.entries()] == list(range(6, 61))
    assert store.append("next").cursor == 61


def test_threads_and_stores_never_share_a_number(tmp_path: Path) -> None:
    def work() -> None:
        store = HistoryStore(tmp_path)
        for _ in range(10):
            store.append("x")

    shared = HistoryStore(tmp_path)
    threads = [threading.Thread(target=work) for _ in range(3)]
    threads += [threading.Thread(target=lambda: [shared.append("y") for _ in range(10)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.cursor for entry in shared.entries()] == list(range(1, 51))


WRITER = """
import sys
from pathlib import Path
from gitmem.store import HistoryStore
store = HistoryStore(Path(sys.argv[1]))
print(*(store.append(f"{sys.argv[2]} {number}").cursor for number in range(40)))
"""


def test_processes_never_share_a_number_and_lose_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name], stdout=subprocess.PIPE, text=True
        )
        for name in "abc"
    ]
    given = [[int(word) for word in writer.communicate(timeout=60)[0].split()] for writer in writers]
    assert sorted(number for numbers in given for number in numbers) == list(range(1, 121))
    assert all(numbers == sorted(numbers) for numbers in given)
    assert len({entry.content for entry in HistoryStore(tmp_path).entries()}) == 120


OLD = b"[2025-12-01 09:00] Mara likes tea.\n\n[2025-12-02 10:00] The server moved.\n"


def test_an_old_history_is_taken_over_once_and_kept(tmp_path: Path, store: HistoryStore) -> None:
    old = tmp_path / "memory" / "HISTORY.md"
    old.write_bytes(OLD)
    assert store.migrate() == 2
    assert [entry.timestamp for entry in store.entries()] == ["2025-12-01 09:00", "2025-12-02 10:00"]
    assert store.dream_cursor == 2
    assert (tmp_path / "memory" / "HISTORY.md.bak").read_bytes() == OLD
    assert store.migrate() == 0
    assert store.append("new").cursor == 3


def test_an_append_killed_anywhere_gives_out_no_number_twice(tmp_path: Path) -> None:
    HistoryStore(tmp_path).append("first")
    for point in kill_points(lambda: HistoryStore(tmp_path).append("x")):
        entries = HistoryStore(tmp_path).entries()
        last = HistoryStore(tmp_path).append(f"after {point}")
        cursors = [entry.cursor for entry in HistoryStore(tmp_path).entries()]
        assert cursors == sorted(set(cursors))
        assert last.cursor > max(entry.cursor for entry in entries)


def test_a_migration_killed_anywhere_is_finished_by_the_next(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "HISTORY.md").write_bytes(OLD)
    kills = 0
    for _ in kill_points(lambda: HistoryStore(tmp_path).migrate()):
        kills += 1
        HistoryStore(tmp_path).migrate()
        store = HistoryStore(tmp_path)
        assert [entry.cursor for entry in store.entries()] == [1, 2]
        assert store.dream_cursor == 2
        assert (memory / "HISTORY.md.bak").read_bytes() == OLD
        for path in memory.iterdir():
            path.unlink()
        (memory / "HISTORY.md").write_bytes(OLD)
    assert kills > 8
