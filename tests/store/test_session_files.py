"""Which file holds a session: every key has one of its own, inside the folder, whoever named it."""

import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.core.session import Session, nanobot_stem, parse
from gitmem.errors import NotFound, UnsafePath, UsageError
from gitmem.store import SessionStore, session_files
from gitmem.store.session_files import SessionFiles
from tests.engines import said, session_bytes

COLLIDING = [
    *("telegram:a_b", "telegram:a:b", "telegram/a:b", "telegram_a:b", "Telegram:a_b"),
    *("telegram:a_b ", "telegram:a_b.", "cli:con", "cli:NUL", "cli:\u00e9", "cli:e\u0301"),
    *("cli:\U0001f600", "x:" + "k" * 300, "a:%3A", "a:%253A"),
]
HOSTILE = [
    *("../../etc/cron.d/x", "..", "/etc/passwd", "C:\\Windows\\x", "a/../../b", "channel:../x", "x\0y"),
    *(".git/config", "..%2f..%2fx", "\\\\server\\share", "a\nb", "~/.ssh/authorized_keys", "-rf"),
    *("sessions/../../SOUL.md", "\u2025/\u2025/x", ".", "half \ud83d", " "),
]


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "ws", fsync=False)


def keep(store: SessionStore, key: str, *texts: str) -> Session:
    known = store.load(key)
    added = [{"role": "user", "content": text} for text in texts]
    return store.save(replace(known, messages=(*known.messages, *added)))


def texts(session: Session) -> list[str]:
    return [str(message["content"]) for message in session.messages]


def put(store: SessionStore, name: str, data: bytes) -> Path:
    store.folder.mkdir(parents=True, exist_ok=True)
    path = store.folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("keys", [COLLIDING, HOSTILE], ids=["b06", "b94"])
def test_b06_b94_every_key_comes_back_from_a_safe_file_of_its_own(
    tmp_path: Path, store: SessionStore, keys: list[str]
) -> None:
    for key in keys:
        keep(store, key, "text of " + key.encode("utf-8", "surrogatepass").hex())
    fresh = SessionStore(tmp_path / "ws")
    for key in keys:
        assert texts(fresh.load(key)) == ["text of " + key.encode("utf-8", "surrogatepass").hex()]
    assert sorted(info.key for info in fresh.list()) == sorted(keys)
    names = [info.path.name for info in fresh.list()]
    assert len({unicodedata.normalize("NFC", name).lower() for name in names}) == len(keys)
    assert max(len(name.encode()) for name in names) <= 255
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {store.folder}
    for key in keys:
        fresh.delete(key)
    assert [path.name for path in store.folder.iterdir()] == [".session-files.lock"]


def test_b06_an_old_name_is_used_by_the_key_inside_only(store: SessionStore) -> None:
    old = put(store, "telegram_a_b.jsonl", session_bytes("telegram:a_b", [said(0)]))
    assert texts(store.load("telegram:a:b")) == []
    keep(store, "telegram:a:b", "other")
    keep(store, "telegram:a_b", "more")
    assert texts(parse(old.read_bytes())) == ["m00", "more"]
    assert sorted(info.messages for info in store.list()) == [1, 2]


def test_an_old_file_without_a_key_belongs_to_the_first_who_saves_it(store: SessionStore) -> None:
    put(
        store,
        "telegram_a_b.jsonl",
        b'{"_type": "metadata", "metadata": {}}\n{"role": "user", "content": "x"}\n',
    )
    assert [info.key for info in store.list()] == ["telegram_a_b"]
    assert texts(keep(store, "telegram:a_b", "mine")) == ["x", "mine"]
    assert texts(store.load("telegram:a:b")) == []
    assert [info.key for info in store.list()] == ["telegram:a_b"]


def test_a_name_that_another_session_has_is_never_taken(store: SessionStore) -> None:
    other = put(store, "a_b.jsonl", session_bytes("a_b", [said(0)]))
    before = other.read_bytes()
    keep(store, "a:b", "mine")
    assert other.read_bytes() == before
    assert (store.folder / f"{nanobot_stem('a:b')}.jsonl").exists()
    assert texts(store.load("a:b")) == ["mine"]
    assert texts(store.load("a_b")) == ["m00"]


def test_b06_a_fork_never_takes_the_name_of_another_session(store: SessionStore) -> None:
    other = put(store, "a_b.jsonl", session_bytes("a_b", [said(0)]))
    before = other.read_bytes()
    keep(store, "k:x", "one", "two")
    store.fork("k:x", 2, "a:b")
    assert other.read_bytes() == before
    assert texts(store.load("a:b")) == ["one"]


def test_without_any_free_name_nothing_is_written(store: SessionStore) -> None:
    put(store, "a_b.jsonl", session_bytes("other:1", []))
    put(store, f"{nanobot_stem('a:b')}.jsonl", session_bytes("other:2", []))
    with pytest.raises(UsageError):
        keep(store, "a:b", "mine")
    assert len(store.list()) == 2


@pytest.mark.parametrize("make", ["link", "fifo", "folder"])
def test_b94_what_is_no_file_is_neither_read_nor_replaced(
    tmp_path: Path, store: SessionStore, make: str
) -> None:
    import os  # noqa: PLC0415

    secret = tmp_path / "secret"
    secret.write_bytes(session_bytes("k:x", [said(0)]))
    store.folder.mkdir(parents=True)
    path = store.folder / "k_x.jsonl"
    if make == "link":
        path.symlink_to(secret)
    elif make == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert store.list() == []
    assert store.load("k:x").messages == ()
    keep(store, "k:x", "mine")
    assert secret.read_bytes() == session_bytes("k:x", [said(0)])
    assert texts(store.load("k:x")) == ["mine"]
    assert os.path.lexists(path)
    assert not path.is_file() or path.is_symlink()


def test_a_link_that_comes_in_between_is_noticed(
    tmp_path: Path, store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, "k:x", "one")
    path = store.folder / "k_x.jsonl"
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    monkeypatch.setattr(SessionFiles, "find", lambda *_: path)
    with pytest.raises(UnsafePath):
        store.load("k:x")


def test_all_is_told_of_a_file_in_a_list(store: SessionStore) -> None:
    head = b'{"_type":"metadata","key":"k:x","updated_at":"2026-01-05T10:00:00","last_consolidated":1}\n'
    path = put(
        store, "k_x.jsonl", head + b'{"role":"user","content":"a"}\n{"role":"user","content":"b"}\nodd\n'
    )
    info = store.list()[0]
    assert (info.key, info.path, info.messages, info.last_consolidated) == ("k:x", path, 2, 1)
    assert info.updated_at == "2026-01-05T10:00:00"
    assert info.problems == ("line 4: not valid JSON",)


def test_a_list_reads_again_only_what_changed(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        keep(store, f"k:{number}", "x")
    monkeypatch.setattr(session_files, "_SETTLED", -1)
    assert len(store.list()) == 5
    keep(store, "k:3", "y")
    read: list[bytes] = []

    def counting(data: bytes) -> Session:
        read.append(data)
        return parse(data)

    monkeypatch.setattr("gitmem.store.session_list.session.parse", counting)
    assert [info.messages for info in store.list()] == [1, 1, 1, 2, 1]
    assert len(read) == 1


def test_a_likely_name_is_tried_before_any_other_file(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        keep(store, f"k:{number}", "x")
    fresh = SessionStore(store.folder.parent, fsync=False)
    monkeypatch.setattr(SessionFiles, "all", lambda _: pytest.fail("looked at every file"))
    assert texts(fresh.load("k:3")) == ["x"]


def test_the_last_word_of_a_file_about_its_key_counts(store: SessionStore) -> None:
    first, second = b'{"_type":"metadata","key":"k:x"}\n', b'{"_type":"metadata","key":"k:y"}\n'
    put(store, "odd.jsonl", first + second + b'{"role":"user","content":"a"}\n')
    assert texts(store.load("k:y")) == ["a"]
    assert texts(store.load("k:x")) == []


def test_a_key_deep_in_a_large_file_is_found(store: SessionStore) -> None:
    line = b'{"role":"user","content":"' + b"x" * 30_000 + b'"}\n'
    put(store, "odd.jsonl", line * 6 + b'{"_type":"metadata","key":"k:x"}\n')
    assert len(store.load("k:x").messages) == 6


def test_a_session_of_another_folder(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "ws", sessions=tmp_path / "elsewhere", fsync=False)
    keep(store, "k:x", "one")
    assert (tmp_path / "elsewhere" / "k_x.jsonl").exists()
    assert not (tmp_path / "ws").exists()


def test_deleting_takes_the_checkpoint_beside_it_along(store: SessionStore) -> None:
    keep(store, "k:x", "one")
    beside = store.folder / "k_x.checkpoint.json"
    beside.write_text("{}")
    store.delete("k:x")
    assert not beside.exists()
    with pytest.raises(NotFound):
        store.delete("k:x")


def test_clearing_takes_the_checkpoint_beside_it_along(store: SessionStore) -> None:
    keep(store, "k:x", "one")
    beside = store.folder / "k_x.checkpoint.json"
    beside.write_text("{}")
    before = (store.folder / "k_x.jsonl").read_bytes()
    store.clear_checkpoint("k:x")
    assert not beside.exists()
    assert (store.folder / "k_x.jsonl").read_bytes() == before


def test_what_changes_nothing_begins_no_session(store: SessionStore) -> None:
    store.clear_checkpoint("k:x")
    store.retain("k:x", 8)
    store.update_metadata("k:x", {"title": None})
    assert store.list() == []
