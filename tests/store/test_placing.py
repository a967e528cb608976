"""Putting a file in place: only over the expected bytes, private, and whole."""

import os
from pathlib import Path

import pytest

from gitmem.edges import syscalls
from gitmem.errors import UnsafePath
from gitmem.store import placing


@pytest.fixture(params=["exchange", "no exchange"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file on a system that can exchange names, and on one that cannot."""

    def refuse(one: Path, other: Path) -> None:
        raise syscalls.NoExchange

    if request.param != "exchange":
        monkeypatch.setattr(syscalls, "exchange", refuse)
    return tmp_path / "file.jsonl"


def test_only_what_was_expected_is_replaced(path: Path) -> None:
    assert placing.place(path, None, b"one")
    assert not placing.place(path, None, b"two")
    assert not placing.place(path, b"other", b"two")
    assert path.read_bytes() == b"one"
    assert placing.place(path, b"one", b"two")
    assert placing.read(path) == b"two"
    assert [item.name for item in path.parent.iterdir()] == ["file.jsonl"]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600])
def test_b93_it_becomes_private_whatever_it_was(path: Path, mode: int) -> None:
    path.write_bytes(b"one")
    path.chmod(mode)
    assert placing.place(path, b"one", b"two")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_goes_away_is_none(path: Path) -> None:
    assert placing.read(path) is None
    assert not placing.place(path, b"one", b"two")
    assert not path.exists()


@pytest.mark.parametrize("make", ["link", "fifo", "folder"])
def test_what_is_no_file_is_refused(path: Path, make: str) -> None:
    if make == "link":
        path.symlink_to(path.parent / "elsewhere")
    elif make == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(UnsafePath):
        placing.read(path)
    with pytest.raises(UnsafePath):
        placing.place(path, None, b"one")
    assert not (path.parent / "elsewhere").exists()


def test_the_newest_version_of_a_writer_without_a_lock_stays(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b"one")
    versions = [b"theirs", b"theirs again", b"theirs at last"]

    def before(operation: str, target: str) -> None:
        if operation == "exchange" and versions:
            other = tmp_path / "other"
            other.write_bytes(versions.pop(0))
            os.replace(other, path)

    syscalls.before = before
    try:
        assert not placing.place(path, b"one", b"mine")
    finally:
        syscalls.before = None
    assert versions == []
    assert path.read_bytes() == b"theirs at last"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"one")

    def full(descriptor: int, data: bytes, target: Path) -> None:
        os.write(descriptor, data[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(syscalls, "write_all", full)
    with pytest.raises(OSError, match="No space"):
        placing.place(path, b"one", b"two")
    assert [(item.name, item.read_bytes()) for item in path.parent.iterdir()] == [("file.jsonl", b"one")]
