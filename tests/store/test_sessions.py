"""The session store: what is saved is on disk, what others wrote stays, and no byte of a message is lost."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.core.conversation import is_legal
from gitmem.core.session import Session, parse
from gitmem.errors import NotFound, RepositoryBusy, StaleSession, UsageError
from gitmem.store import SessionStore
from tests.engines import said, session_bytes, talk


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path, fsync=False)


def plus(session: Session, *messages: dict[str, Any]) -> Session:
    return replace(session, messages=(*session.messages, *messages))


def texts(session: Session) -> list[str]:
    return [str(message["content"]) for message in session.messages]


def test_what_is_saved_is_loaded_again_and_private(store: SessionStore) -> None:
    saved = store.save(plus(store.load("cli:direct"), *talk(2)))
    assert texts(store.load("cli:direct")) == texts(saved) == ["m00", "m01", "m02", "m03"]
    path = store.folder / "cli_direct.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert store.load("cli:direct").metadata["key"] == "cli:direct"
    assert not list(store.folder.glob("*.tmp"))


def test_a_save_that_others_came_before_is_put_together_with_theirs(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    mine, theirs = store.load("k:x"), store.load("k:x")
    store.save(plus(theirs, said(1)))
    saved = store.save(plus(mine, said(2)))
    assert sorted(texts(saved)) == ["m00", "m01", "m02"]


def test_a_session_that_others_began_meanwhile_is_not_overwritten(store: SessionStore) -> None:
    mine = store.load("k:x")
    store.save(plus(store.load("k:x"), said(1)))
    with pytest.raises(StaleSession):
        store.save(plus(mine, said(2)))
    assert texts(store.load("k:x")) == ["m01"]


def test_both_changed_the_same_field_is_stale(store: SessionStore) -> None:
    store.update_metadata("k:x", {"title": "first"})
    mine = store.load("k:x")
    store.update_metadata("k:x", {"title": "theirs"})
    changed = replace(mine, metadata={**mine.metadata, "metadata": {"title": "mine"}})
    with pytest.raises(StaleSession):
        store.save(changed)


def test_metadata_changes_without_touching_a_byte_of_a_message(store: SessionStore) -> None:
    store.folder.mkdir()
    odd = b'{"role": "user",  "content":"x", "z": 1e-7, "new": {"a":[1,  2]}}\n{"broken\n{"_type": "provider_state", "blob": 1}\n'
    path = store.folder / "k_x.jsonl"
    path.write_bytes(b'{"_type":"metadata","key":"k:x","metadata":{"a":1},"last_consolidated":0}\n' + odd)
    store.update_metadata("k:x", {"title": "t", "a": None})
    assert path.read_bytes().endswith(odd)
    assert store.load("k:x").state == {"title": "t"}


def test_a_checkpoint_is_on_disk_at_once_and_can_be_cleared(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    store.mark_pending("k:x")
    store.set_checkpoint("k:x", {"phase": "awaiting_tools"})
    assert (
        parse((store.folder / "k_x.jsonl").read_bytes()).state["runtime_checkpoint"]["phase"]
        == "awaiting_tools"
    )
    store.clear_checkpoint("k:x")
    assert store.load("k:x").state == {}


def test_run_state_survives_a_merge_with_others(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), said(0)))
    store.mark_pending("k:x")
    mine = store.load("k:x")
    other = SessionStore(store.folder.parent)
    other.save(plus(other.load("k:x"), said(1)))
    assert store.save(plus(mine, said(2))).state["pending_user_turn"] is True


def test_fork_and_retain_and_delete(store: SessionStore) -> None:
    store.save(plus(store.load("k:x"), *talk(5)))
    assert texts(store.fork("k:x", 3, "k:y")) == ["m00", "m01", "m02", "m03"]
    with pytest.raises(UsageError):
        store.fork("k:x", 2, "k:y")
    assert texts(store.retain("k:x", 4)) == ["m06", "m07", "m08", "m09"]
    assert [info.key for info in store.list()] == ["k:x", "k:y"]
    store.delete("k:x")
    with pytest.raises(NotFound):
        store.delete("k:x")
    assert [info.key for info in store.list()] == ["k:y"]


KEYS = [
    "telegram:a_b",
    "telegram:a:b",
    "Cli:X",
    "cli:x",
    "../../x",
    "/etc/passwd",
    "a\0b",
    "con:aux",
    "é:ü",
    "..",
]
KEYS += ["k:" + "x" * 300]


def test_b06_b94_every_key_has_a_file_of_its_own_inside_the_folder(store: SessionStore) -> None:
    for key in KEYS:
        store.save(plus(store.load(key), {"role": "user", "content": key}))
    for key in KEYS:
        assert texts(store.load(key)) == [key]
    names = [path.name for path in store.folder.iterdir() if path.suffix == ".jsonl"]
    assert len({name.lower() for name in names}) == len(KEYS)
    assert not (store.folder.parent / "x.jsonl").exists()


@pytest.mark.parametrize("name", ["dGVsZWdyYW06NDI.jsonl", "telegram_42.jsonl", "old-export.jsonl"])
def test_a_file_that_says_it_is_the_session_is_used_whatever_its_name(store: SessionStore, name: str) -> None:
    store.folder.mkdir()
    (store.folder / name).write_bytes(session_bytes("telegram:42", [said(0)]))
    store.save(plus(store.load("telegram:42"), said(1)))
    assert texts(parse((store.folder / name).read_bytes())) == ["m00", "m01"]
    assert len(store.list()) == 1


def test_a_file_of_another_key_with_the_same_old_name_is_left_alone(store: SessionStore) -> None:
    store.folder.mkdir()
    (store.folder / "telegram_a_b.jsonl").write_bytes(session_bytes("telegram:a:b", [said(0)]))
    store.save(plus(store.load("telegram:a_b"), said(1)))
    assert texts(store.load("telegram:a:b")) == ["m00"]
    assert texts(store.load("telegram:a_b")) == ["m01"]


@pytest.mark.parametrize("tail", [b'{"role": "user", "content": "to', b"\xff\xfe\n", b"\0\0\0\n", b"[1]\n"])
def test_b16_what_cannot_be_read_is_reported_and_hides_nothing(store: SessionStore, tail: bytes) -> None:
    store.folder.mkdir()
    path = store.folder / "k_x.jsonl"
    path.write_bytes(session_bytes("k:x", talk(2)) + tail)
    known = store.load("k:x")
    assert texts(known) == ["m00", "m01", "m02", "m03"]
    assert known.problems or known.torn
    store.save(plus(known, said(9)))
    assert texts(store.load("k:x")) == ["m00", "m01", "m02", "m03", "m09"]
    assert tail.strip(b"\0\n") in path.read_bytes()


def test_the_agents_lock_is_respected(store: SessionStore) -> None:
    import fcntl  # noqa: PLC0415

    store.save(plus(store.load("k:x"), said(0)))
    descriptor = os.open(store.folder / ".session-files.lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    released = threading.Timer(0.3, os.close, [descriptor])
    released.start()
    store.save(plus(store.load("k:x"), said(1)))
    released.join()
    assert RepositoryBusy.exit_code == 1


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from gitmem.store import SessionStore
store = SessionStore(Path(sys.argv[1]), fsync=False)
for number in range(40):
    store.update("k:x", lambda s: replace(s, messages=(*s.messages, {"role": "user", "content": f"{sys.argv[2]}{number}"})))
"""


def test_b23_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    found = texts(SessionStore(tmp_path).load("k:x"))
    assert sorted(found) == sorted(f"{name}{number}" for name in "ab" for number in range(40))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["say", "tool", "retain", "mark", "title"]), st.integers(0, 12)),
        max_size=12,
    )
)
def test_any_story_keeps_lists_legal_marks_in_range_and_unknown_fields(
    tmp_path_factory: Any, story: list[tuple[str, int]]
) -> None:
    store = SessionStore(tmp_path_factory.mktemp("ws"), fsync=False)
    store.save(plus(store.load("k:x"), {"role": "user", "content": "first", "odd": [1.50, None]}))
    for number, (what, size) in enumerate(story):
        known = store.load("k:x")
        if what == "say":
            store.save(
                plus(
                    known, {"role": "user", "content": f"u{number}", "odd": number}, said(number, "assistant")
                )
            )
        elif what == "tool":
            call = {"id": f"c{number}", "type": "function", "function": {"name": "t", "arguments": "{}"}}
            result = {"role": "tool", "tool_call_id": f"c{number}", "name": "t", "content": "done"}
            store.save(
                plus(
                    known, said(number), {"role": "assistant", "content": None, "tool_calls": [call]}, result
                )
            )
        elif what == "retain":
            store.retain("k:x", size)
        elif what == "mark":
            store.save(replace(known, last_consolidated=min(size, len(known.messages))))
        else:
            store.update_metadata("k:x", {"title": f"t{number}"})
        now = store.load("k:x")
        assert is_legal(now.messages)
        assert 0 <= now.last_consolidated <= len(now.messages)
        assert not now.problems
        lines = (store.folder / "k_x.jsonl").read_bytes().split(b"\n")
        assert sum(json.loads(line).get("_type") == "metadata" for line in lines if line) == 1
