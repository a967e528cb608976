"""Damaged sessions: nothing is hidden, nothing raises, and no byte that could not be read is lost (cases B07, B16, B25)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitmem.core.merge.session import merge_session
from gitmem.core.session import Session, parse, unarchived
from gitmem.store import SessionStore
from tests.engines import said, session_bytes, talk

LINES = b"".join(b'{"role": "user", "content": "q%d", "odd":  1.50}\n' % number for number in range(4))


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    (tmp_path / "sessions").mkdir()
    return SessionStore(tmp_path, fsync=False)


def texts(session: Session) -> list[Any]:
    return [message["content"] for message in session.messages]


def head(mark: str) -> bytes:
    return b'{"_type": "metadata", "key": "k:x", "metadata": {}' + mark.encode() + b"}\n"


MARKS = ["999", "-1", '"2"', "true", "2.0", "null", "[2]", "5"]


@pytest.mark.parametrize("mark", MARKS)
def test_b07_a_mark_out_of_range_hides_nothing(store: SessionStore, mark: str) -> None:
    path = store.folder / "k_x.jsonl"
    path.write_bytes(head(f', "last_consolidated": {mark}') + LINES)
    known = store.load("k:x")
    assert len(store.unarchived("k:x")) == 4
    assert [problem for problem in known.problems if "last_consolidated" in problem]
    saved = store.save(known)
    assert saved.problems == ()
    assert len(unarchived(saved)) == 4
    assert path.read_bytes().endswith(LINES)


@pytest.mark.parametrize(
    ("data", "seen", "title"),
    [
        (head("") + LINES, 4, None),
        (head(', "last_consolidated": 4') + LINES, 0, None),
        (head("") + LINES + head(', "last_consolidated": 2').replace(b"{}", b'{"title": "new"}'), 2, "new"),
        (LINES + head(', "last_consolidated": 3'), 1, None),
        (
            b'{"_type": "metadata", "key": "k:x", "metadata": "oops", "last_consolidated": 0}\n' + LINES,
            4,
            None,
        ),
    ],
    ids=["missing", "all", "two", "last", "no-object"],
)
def test_b07_metadata_counts_wherever_it_stands_and_is_written_once(
    store: SessionStore, data: bytes, seen: int, title: str | None
) -> None:
    path = store.folder / "k_x.jsonl"
    path.write_bytes(data)
    for known in (store.load("k:x"), store.save(store.load("k:x")), store.load("k:x")):
        assert len(known.messages) == 4
        assert len(unarchived(known)) == seen
        assert known.state.get("title") == title
    assert path.read_bytes().count(b'"_type"') == 1
    assert path.read_bytes().startswith(b'{"_type"')
    assert path.read_bytes().endswith(LINES)


FIRST = session_bytes("k:x", talk(1))
TORN = {
    "tail": (FIRST + b'{"role": "user", "content": "to', 2),
    "character": (
        session_bytes("k:x", []) + '{"role": "user", "content": "caf\u00e9 \U0001f600'.encode()[:-2],
        0,
    ),
    "metadata": (b'{"_type": "metadata", "key": "k:x", "created_at": "20\n' + LINES, 4),
    "nothing": (b"", 0),
    "newlines": (b"\n\n\n", 0),
    "metadata-alone": (session_bytes("k:x", []), 0),
    "nul": (FIRST + b"\0" * 512, 2),
    "list": (FIRST + b"[1, 2]\n", 2),
}


@pytest.mark.parametrize("name", TORN)
def test_b16_a_damaged_session_goes_on_and_keeps_what_it_had(store: SessionStore, name: str) -> None:
    data, count = TORN[name]
    path = store.folder / "k_x.jsonl"
    path.write_bytes(data)
    known = store.load("k:x")
    assert len(known.messages) == count
    assert bool(known.problems or known.torn) == (name in {"tail", "character", "metadata", "nul", "list"})
    saved = store.save(replace(known, messages=(*known.messages, said(9))))
    assert texts(saved) == texts(store.load("k:x")) == [*texts(known), "m09"]
    now = path.read_bytes().split(b"\n")
    unread = [line.record for line in known.origin.lines if line.value is None and line.record.strip()]
    assert [line for line in unread if line not in now] == []


def test_b16_damage_survives_a_merge_with_others(store: SessionStore) -> None:
    path = store.folder / "k_x.jsonl"
    path.write_bytes(
        FIRST + b'{"half": \n' + session_bytes("k:x", [said(5)]).split(b"\n")[1] + b"\n\xff\xfe\n"
    )
    mine, theirs = store.load("k:x"), store.load("k:x")
    store.save(replace(theirs, messages=(*theirs.messages, said(6))))
    saved = store.save(replace(mine, messages=(*mine.messages, said(7))))
    assert texts(saved) == ["m00", "m01", "m05", "m06", "m07"]
    assert {b'{"half": ', b"\xff\xfe"} <= set(path.read_bytes().split(b"\n"))


def yes(number: int) -> dict[str, Any]:
    return {
        "role": "user" if number % 2 == 0 else "assistant",
        "content": "yes",
        "timestamp": "2026-01-05T10:00:00",
    }


def test_b25_equal_messages_are_different_messages(store: SessionStore) -> None:
    path = store.folder / "k_x.jsonl"
    path.write_bytes(session_bytes("k:x", [yes(number) for number in range(8)]))
    store.update("k:x", lambda known: replace(known, last_consolidated=4))
    assert texts(store.load("k:x")) == ["yes"] * 8
    mine, theirs = store.load("k:x"), store.load("k:x")
    store.save(replace(theirs, messages=(*theirs.messages, yes(8), yes(9))))
    store.update_metadata("k:x", {"title": "t"})
    saved = store.save(replace(mine, metadata={**mine.metadata, "metadata": {"goal": "g"}}))
    assert len(saved.messages) == 10
    assert [message["role"] for message in saved.messages] == ["user", "assistant"] * 5
    assert (saved.last_consolidated, saved.state) == (4, {"title": "t", "goal": "g"})


def test_b25_a_copy_that_went_on_merges_without_losing_a_repeated_message() -> None:
    base = session_bytes("k:x", [yes(number) for number in range(4)])
    longer = session_bytes("k:x", [yes(number) for number in range(6)])
    merged, conflicts = merge_session("k:x", base, base, longer)
    assert conflicts == ()
    assert texts(parse(merged or b"")) == ["yes"] * 6


def test_a_save_keeps_its_file_private(store: SessionStore) -> None:
    path = store.folder / "k_x.jsonl"
    path.write_bytes(FIRST)
    path.chmod(0o644)
    store.update_metadata("k:x", {"title": "t"})
    assert path.stat().st_mode & 0o777 == 0o600
