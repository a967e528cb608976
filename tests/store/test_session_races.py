"""Sessions that others write at the same time: merged or refused, and never overwritten unseen."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitmem.core.conversation import is_legal
from gitmem.core.session import Session, parse
from gitmem.edges import syscalls
from gitmem.errors import Stale, StaleSession
from gitmem.store import SessionStore
from tests.engines import said, session_bytes, talk


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path, fsync=False)


def plus(session: Session, *messages: dict[str, Any]) -> Session:
    return replace(session, messages=(*session.messages, *messages))


def texts(session: Session) -> list[str]:
    return [str(message["content"]) for message in session.messages]


@contextmanager
def cutting_in(operation: str, *writes: Callable[[], object]) -> Iterator[list[Callable[[], object]]]:
    """A writer without a lock that writes just before each of our next disk operations of a kind; gives what it did not write."""
    waiting = list(writes)

    def before(name: str, target: str) -> None:
        if name == operation and waiting:
            waiting.pop(0)()

    syscalls.before = before
    try:
        yield waiting
    finally:
        syscalls.before = None


def saves(path: Path, count: int) -> list[Callable[[], object]]:
    """Saves by an agent that takes no lock and holds the session in memory: each has one message more, then a rename."""
    told = list(parse(path.read_bytes()).messages)

    def save() -> None:
        told.append(said(len(told)))
        temporary = path.with_name("agents.tmp")
        temporary.write_bytes(session_bytes("k:x", told))
        os.replace(temporary, path)

    return [save] * count


@pytest.mark.parametrize("flush", [True, False])
def test_a_save_between_our_look_and_our_exchange_is_merged(store: SessionStore, *, flush: bool) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    path = store.folder / "k_x.jsonl"
    mine = plus(store.load("k:x"), said(3))
    with cutting_in("exchange", *saves(path, 2)) as left:
        saved = store.save(mine, fsync=flush)
    assert left == []
    assert texts(saved) == texts(store.load("k:x")) == ["m00", "m01", "m02", "m03"]
    assert sorted(item.name for item in store.folder.iterdir()) == [".session-files.lock", "k_x.jsonl"]


def test_a_session_begun_between_our_look_and_our_link_is_not_overwritten(store: SessionStore) -> None:
    path = store.folder / "k_x.jsonl"
    mine = plus(store.load("k:x"), said(3))
    with (
        cutting_in("link", lambda: path.write_bytes(session_bytes("k:x", [said(0)]))),
        pytest.raises(StaleSession),
    ):
        store.save(mine)
    assert texts(store.load("k:x")) == ["m00"]


def test_a_change_is_made_again_when_a_writer_came_in_between(store: SessionStore) -> None:
    store.update_metadata("k:x", {"n": 1})
    path = store.folder / "k_x.jsonl"
    other = path.read_bytes().replace(b'"n": 1', b'"n": 5')
    seen: list[Any] = []

    def add(known: Session) -> Session:
        seen.append(known.state["n"])
        return replace(known, metadata={**known.metadata, "metadata": {"n": known.state["n"] + 1}})

    with cutting_in("exchange", lambda: path.write_bytes(other)):
        saved = store.update("k:x", add)
    assert seen == [1, 5]
    assert saved.state["n"] == store.load("k:x").state["n"] == 6


def test_a_writer_that_never_rests_makes_us_give_up(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    path = store.folder / "k_x.jsonl"
    mine = plus(store.load("k:x"), said(99))
    before_ours = [write for save in saves(path, 25) for write in (save, lambda: None)]
    with cutting_in("exchange", *before_ours), pytest.raises(StaleSession):
        store.save(mine)
    assert texts(store.load("k:x")) == [f"m{number:02}" for number in range(21)]


def test_a_session_that_others_removed_does_not_come_back(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    mine = plus(store.load("k:x"), said(1))
    store.delete("k:x")
    with pytest.raises(StaleSession):
        store.save(mine)
    assert store.list() == []


@pytest.mark.parametrize("data", [b"", session_bytes("k:x", [said(0)])[:-9]])
def test_b16_the_half_of_a_file_being_written_is_not_taken_for_a_version(
    store: SessionStore, data: bytes
) -> None:
    store.save(plus(store.load("k:x"), said(0), said(1, "assistant")))
    mine = plus(store.load("k:x"), said(2))
    (store.folder / "k_x.jsonl").write_bytes(data)
    with pytest.raises(StaleSession):
        store.save(mine)
    assert (store.folder / "k_x.jsonl").read_bytes() == data


def test_a_checkpoint_set_by_others_survives_our_save(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    mine = store.load("k:x")
    store.set_checkpoint("k:x", {"phase": "awaiting_tools"})
    saved = store.save(plus(mine, said(1)))
    assert saved.state["runtime_checkpoint"] == {"phase": "awaiting_tools"}
    assert texts(saved) == ["m00", "m01"]


def test_a_checkpoint_that_others_replayed_does_not_come_back(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    store.set_checkpoint("k:x", {"phase": "final_response"})
    mine = store.load("k:x")
    store.update("k:x", lambda known: plus(known, said(1, "assistant")))
    store.clear_checkpoint("k:x")
    saved = store.save(replace(mine, metadata={**mine.metadata, "metadata": {**mine.state, "title": "t"}}))
    assert saved.state == {"title": "t"}
    assert texts(saved) == ["m00", "m01"]


def test_two_checkpoints_are_not_mixed(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    mine = store.load("k:x")
    store.set_checkpoint("k:x", {"phase": "awaiting_tools"})
    changed = replace(
        mine, metadata={**mine.metadata, "metadata": {"runtime_checkpoint": {"phase": "other"}}}
    )
    with pytest.raises(Stale):
        store.save(changed)
    assert store.load("k:x").state == {"runtime_checkpoint": {"phase": "awaiting_tools"}}


def test_messages_that_others_dropped_stay_dropped(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), *talk(4)))
    mine = store.load("k:x")
    store.retain("k:x", 4)
    assert texts(store.save(plus(mine, said(8)))) == ["m04", "m05", "m06", "m07", "m08"]


def test_threads_that_update_one_session_lose_nothing(store: SessionStore) -> None:
    def plus(known: Session, message: dict[str, Any]) -> Session:
        return replace(known, messages=(*known.messages, message))

    def work(name: str) -> None:
        own = SessionStore(store.folder.parent, fsync=False)
        for number in range(15):
            message = {"role": "user", "content": f"{name}{number}"}
            own.update("k:x", partial(plus, message=message))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = texts(store.load("k:x"))
    assert sorted(found) == sorted(f"{name}{number}" for name in "abc" for number in range(15))
    assert [text for text in found if text.startswith("a")] == [f"a{number}" for number in range(15)]


STALE_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from gitmem.errors import StaleSession
from gitmem.store import SessionStore
store = SessionStore(Path(sys.argv[1]), fsync=False)
known = store.load("k:x")
for number in range(25):
    said = {"role": "user", "content": f"{sys.argv[2]}{number}"}
    call = {"id": f"{sys.argv[2]}{number}", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "name": "t", "content": "done"}
    known = store.save(replace(known, messages=(*known.messages, said, asked, result)))
"""


def test_b23_processes_that_save_what_they_loaded_long_ago_lose_nothing(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), {"role": "user", "content": "begin"}))
    writers = [
        subprocess.Popen([sys.executable, "-c", STALE_WRITER, str(store.folder.parent), name])
        for name in "ab"
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    known = store.load("k:x")
    said_by_users = [message["content"] for message in known.messages if message["role"] == "user"]
    assert sorted(said_by_users) == sorted(
        ["begin", *(f"{name}{number}" for name in "ab" for number in range(25))]
    )
    assert is_legal(known.messages)
    assert len(known.messages) == 151
