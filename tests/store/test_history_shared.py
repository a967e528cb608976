"""A history that others write too, in their own ways: no number comes twice, and no entry is lost."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.core import history
from gitmem.edges import syscalls
from gitmem.errors import UnsafePath
from gitmem.store import HistoryStore

OLD = b"[2025-12-01 09:00] Mara likes tea.\n\n[2025-12-02 10:00] The server moved.\n"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture
def store(memory: Path) -> HistoryStore:
    return HistoryStore(memory.parent)


def test_an_entry_is_always_past_what_was_dreamed(memory: Path, store: HistoryStore) -> None:
    (memory / ".dream_cursor").write_text("60")
    assert store.append("new").cursor == 61
    assert [entry.content for entry in store.after(store.dream_cursor)] == ["new"]


def test_b16_a_torn_entry_keeps_its_number_and_its_bytes(memory: Path, store: HistoryStore) -> None:
    torn = b'{"cursor": 1, "timestamp": "2026-01-05 09:01", "content": "a"}\n{"cursor": 2, "timestamp": "20'
    (memory / "history.jsonl").write_bytes(torn)
    assert store.append("new").cursor == 3
    assert (memory / "history.jsonl").read_bytes().startswith(torn + b"\n")
    assert len(store.problems()) == 1


@pytest.mark.parametrize("cursor", ["7", "\ufeff7\r\n", " 7 "])
def test_a_counter_of_another_writer_counts_however_it_is_written(
    memory: Path, store: HistoryStore, cursor: str
) -> None:
    (memory / ".cursor").write_text(cursor, "utf-8")
    assert store.append("new").cursor == 8


def test_whatever_others_did_to_the_file_is_noticed(memory: Path, store: HistoryStore) -> None:
    path, counter = memory / "history.jsonl", memory / ".cursor"
    store.append("one")

    def number_after(data: bytes) -> int:
        path.write_bytes(data)
        counter.unlink(missing_ok=True)
        return store.append("x").cursor

    entry = history.record
    assert number_after(path.read_bytes() + entry(5, "t", "appended") + b"\n") == 6
    assert number_after(path.read_bytes() + b'{"cursor": 9, "torn') == 10
    assert number_after(entry(30, "t", "put in front") + b"\n" + path.read_bytes()) == 31
    assert number_after(path.read_bytes().replace(b'"cursor": 30', b'"cursor": 777')) == 778
    assert number_after(b"") == 1
    path.unlink()
    counter.unlink()
    assert store.append("x").cursor == 1


def test_only_what_others_added_is_parsed(
    memory: Path, store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = HistoryStore(memory.parent)
    for number in range(20):
        store.append(f"entry {number}")
    other.append("their first")
    parse = history.parse
    parsed: list[int] = []

    def counting(data: bytes) -> history.History:
        parsed.append(len(data))
        return parse(data)

    monkeypatch.setattr(history, "parse", counting)
    assert [store.append("x").cursor, store.append("y").cursor, other.append("z").cursor] == [22, 23, 24]
    assert len(parsed) == 2
    assert max(parsed) < 200


def test_numbers_that_compaction_drops_do_not_come_back(memory: Path, store: HistoryStore) -> None:
    entries = [history.record(number, "t", "x") + b"\n" for number in (1, 2, 3)]
    (memory / "history.jsonl").write_bytes(b"odd\n" + b"".join(entries))
    (memory / ".dream_cursor").write_text("3")
    assert store.compact(0) == 3
    (memory / ".dream_cursor").unlink()
    assert (memory / "history.jsonl").read_bytes() == b"odd\n"
    assert store.append("new").cursor == 4


def test_compaction_loses_no_entry_of_a_writer_without_our_lock(memory: Path, store: HistoryStore) -> None:
    for number in range(6):
        store.append(f"entry {number}")
    (memory / ".dream_cursor").write_text("4")
    path = memory / "history.jsonl"
    waiting = [history.record(7, "t", "theirs") + b"\n"]

    def before(operation: str, target: str) -> None:
        if operation == "exchange" and waiting:
            path.write_bytes(path.read_bytes() + waiting.pop())

    syscalls.before = before
    try:
        assert store.compact(1) == 4
    finally:
        syscalls.before = None
    assert [entry.cursor for entry in store.entries()] == [5, 6, 7]


def test_b93_the_queue_is_private(memory: Path, store: HistoryStore) -> None:
    for number in range(3):
        store.append(f"entry {number}")
    path = memory / "history.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    (memory / ".dream_cursor").write_text("2")
    store.compact(1)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["history.jsonl", ".cursor", "."])
def test_b94_a_link_is_never_written_through(tmp_path: Path, memory: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if name == ".":
        memory.rmdir()
        memory.symlink_to(elsewhere)
    else:
        (memory / name).symlink_to(elsewhere / "file")
    with pytest.raises(UnsafePath):
        HistoryStore(tmp_path).append("x")
    assert not list(elsewhere.iterdir())


def test_an_old_history_is_not_mixed_into_a_queue_in_use(memory: Path, store: HistoryStore) -> None:
    old = memory / "HISTORY.md"
    old.write_bytes(OLD)
    store.append("one")
    assert store.migrate() == 0
    assert old.read_bytes() == OLD
    (memory / "history.jsonl").write_bytes(b"")
    assert store.migrate() == 0
    assert store.append("two").cursor == 2


def test_what_was_kept_of_an_old_history_is_never_replaced(memory: Path, store: HistoryStore) -> None:
    (memory / "HISTORY.md.bak").write_bytes(b"kept before")
    (memory / "HISTORY.md").write_bytes(OLD)
    assert store.migrate() == 2
    assert (memory / "HISTORY.md.bak").read_bytes() == b"kept before"
    assert (memory / "HISTORY.md.2.bak").read_bytes() == OLD


def test_an_empty_old_history_is_put_away(memory: Path, store: HistoryStore) -> None:
    (memory / "HISTORY.md").write_bytes(b" \n")
    assert store.migrate() == 0
    assert (memory / "HISTORY.md.bak").read_bytes() == b" \n"
    assert store.append("one").cursor == 1


DAMAGE = st.sampled_from([b'{"cursor": ', b"\xff", b"[]\n", b'{"cursor": 3, "content": 1}\n'])
STORY = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.text(max_size=20)),
        st.tuples(st.just("other"), st.text(max_size=3)),
        st.tuples(st.just("dream"), st.integers(0, 5)),
        st.tuples(st.just("compact"), st.integers(0, 6)),
        st.tuples(st.just("damage"), DAMAGE),
        st.tuples(st.just("lose"), st.just(0)),
    ),
    max_size=20,
)


class Told:
    """A history with two stores, and what must be in it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "memory"
        self.folder.mkdir()
        self.path = self.folder / "history.jsonl"
        self.stores = [HistoryStore(root), HistoryStore(root)]
        self.entries: dict[int, str] = {}
        self.damage: list[bytes] = []

    @property
    def data(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def step(self, what: str, value: Any) -> None:
        one, other = self.stores
        if what in ("append", "other"):
            entry = self.stores[what == "other"].append(value, "k:x")
            assert entry.cursor > max(self.entries, default=0)
            self.entries[entry.cursor] = entry.content
        elif what == "dream":
            seen = [one.dream_cursor, *(entry.cursor for entry in one.after(one.dream_cursor)[:value])]
            (self.folder / ".dream_cursor").write_text(str(seen[-1]))
        elif what == "compact":
            before = len(one.entries())
            assert before - other.compact(value) == len(one.entries()) >= min(before, value)
        elif what == "damage":
            glue = b"\n" if self.data and not self.data.endswith(b"\n") else b""
            self.path.write_bytes(self.data + glue + value)
            self.damage.append(value.removesuffix(b"\n"))
        else:
            (self.folder / ".cursor").unlink(missing_ok=True)

    def check(self) -> None:
        one = self.stores[0]
        left = {entry.cursor: entry.content for entry in one.entries()}
        assert list(left) == sorted(left)
        assert left.items() <= self.entries.items()
        assert {cursor for cursor in self.entries if cursor > one.dream_cursor} <= left.keys()
        assert not Counter(self.damage) - Counter(self.data.split(b"\n"))


@settings(max_examples=50, deadline=None)
@given(STORY)
def test_any_story_gives_rising_numbers_and_drops_nothing_that_was_not_dreamed(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, Any]]
) -> None:
    told = Told(tmp_path_factory.mktemp("ws"))
    for what, value in story:
        told.step(what, value)
        told.check()
