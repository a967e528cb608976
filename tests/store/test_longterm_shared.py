"""Long-term files that others write too: threads, people with an editor, links, and texts that no file can hold."""

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.edges import syscalls
from gitmem.errors import StaleMemory, UnsafePath, UsageError
from gitmem.store import MemoryStore

FILE = "memory/MEMORY.md"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    (tmp_path / "memory").mkdir()
    (tmp_path / FILE).write_text("- a\n")
    return MemoryStore(tmp_path)


def test_b94_a_file_that_is_a_link_is_neither_read_nor_replaced(tmp_path: Path, store: MemoryStore) -> None:
    (tmp_path / "elsewhere").write_text("secret")
    (tmp_path / "USER.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePath):
        store.read("USER.md")
    with pytest.raises(UnsafePath):
        store.write("USER.md", "x")
    assert (tmp_path / "USER.md").is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "secret"


def test_a_file_is_written_by_its_path_and_what_it_was(tmp_path: Path, store: MemoryStore) -> None:
    assert store.write("prompts/dream.md", "Be brief.\n").text == "Be brief.\n"
    (tmp_path / FILE).write_text("- a\n- b\n")
    assert store.write(FILE, "- a, corrected\n", "- a\n").text == "- a, corrected\n- b\n"
    now = store.write(FILE, "- a, corrected\n- mine\n")
    assert sorted(now.text.split("\n")) == ["", "- a, corrected", "- b", "- mine"]


def test_text_that_no_file_can_hold_is_refused(tmp_path: Path, store: MemoryStore) -> None:
    with pytest.raises(UsageError):
        store.write("USER.md", "half \ud83d")
    assert not (tmp_path / "USER.md").exists()


def test_bytes_that_are_no_text_stay(tmp_path: Path, store: MemoryStore) -> None:
    (tmp_path / FILE).write_bytes(b"- caf\xe9\r\n- b\n")
    known = store.read(FILE)
    store.write(known, known.text + "- c\n")
    assert (tmp_path / FILE).read_bytes() == b"- caf\xe9\r\n- b\n- c\n"


def test_a_person_who_saves_just_before_us_loses_nothing(tmp_path: Path, store: MemoryStore) -> None:
    known = store.read(FILE)
    edits = ["- a\n- theirs\n", "- a\n- theirs\n- more of theirs\n"]

    def before(operation: str, target: str) -> None:
        if operation == "exchange" and edits:
            (tmp_path / "editor").write_text(edits.pop(0))
            (tmp_path / "editor").replace(tmp_path / FILE)

    syscalls.before = before
    try:
        now = store.write(known, "- a\n- mine\n")
    finally:
        syscalls.before = None
    assert sorted(now.text.split("\n")) == ["", "- a", "- mine", "- more of theirs", "- theirs"]
    assert now == store.read(FILE)


def test_threads_lose_nothing_of_each_other(tmp_path: Path, store: MemoryStore) -> None:
    def work(name: str) -> None:
        own = MemoryStore(tmp_path)
        known = own.read(FILE)
        for number in range(20):
            known = own.write(known, known.text + f"- {name} {number}\n")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = store.read(FILE).text.split("\n")
    assert all(lines.count(f"- {name} {number}") == 1 for name in "abc" for number in range(20))


def test_what_is_there_already_is_not_written_again(tmp_path: Path, store: MemoryStore) -> None:
    known = store.read(FILE)
    before = (tmp_path / FILE).stat()
    store.write(known, known.text)
    after = (tmp_path / FILE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def text(facts: list[str]) -> str:
    return "".join(f"{fact}\n" for fact in facts)


FACTS = st.lists(st.sampled_from([f"- fact {number}" for number in range(8)]), unique=True, max_size=8)


@settings(max_examples=80, deadline=None)
@given(FACTS, FACTS, FACTS)
def test_no_fact_that_either_side_added_is_lost(
    tmp_path_factory: pytest.TempPathFactory, base: list[str], mine: list[str], theirs: list[str]
) -> None:
    root = tmp_path_factory.mktemp("ws")
    (root / "memory").mkdir()
    (root / FILE).write_text(text(base))
    store = MemoryStore(root)
    known = store.read(FILE)
    (root / FILE).write_text(text(theirs))
    try:
        now = set(store.write(known, text(mine)).text.split("\n"))
    except StaleMemory:
        assert (root / FILE).read_text() == text(theirs)
        return
    added = (set(mine) | set(theirs)) - set(base)
    kept = set(base) & set(mine) & set(theirs)
    assert added | kept <= now
