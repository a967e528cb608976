"""Reading files that writers work on, and replacing them without losing what a writer just wrote."""

import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, File
from gitmem.edges import files, syscalls
from gitmem.errors import UnsafePath


def test_bytes_and_mode_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x\r\n\0")
    (tmp_path / "run.sh").write_bytes(b"y")
    (tmp_path / "run.sh").chmod(0o700)
    os.symlink("nowhere", tmp_path / "link")
    assert files.read_stable(tmp_path, "a.md").file == File(b"x\r\n\0", MODE_FILE)
    assert files.read_stable(tmp_path, "run.sh").file == File(b"y", MODE_EXECUTABLE)
    assert files.read_stable(tmp_path, "link").file == File(b"nowhere", MODE_SYMLINK)


def test_what_is_absent_or_no_file_is_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        (tmp_path / "folder").mkdir()
        for name in ("pipe", "s", "folder", "absent", "pipe/below"):
            assert files.read_stable(tmp_path, name) == files.Reading()


def test_a_large_file_is_reported_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 100)
    reading = files.read_stable(tmp_path, "big", limit=99)
    assert (reading.file, reading.too_large, reading.size) == (None, True, 100)


def test_links_on_the_way_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    os.symlink(tmp_path / "outside", root / "memory")
    with pytest.raises(UnsafePath):
        files.read_stable(root, "memory/secret")
    with pytest.raises(UnsafePath):
        files.install(root, "memory/new", None, File(b"x"))
    assert not (tmp_path / "outside" / "new").exists()


BAD = [
    "",
    "/etc/passwd",
    "../x",
    "a/../b",
    "a//b",
    "./a",
    ".git/config",
    ".GIT/hooks/x",
    "a/.git ",
    ".gi\u200ct/x",
    "git~1/x",
]


@pytest.mark.parametrize(
    "path", [*BAD, "a\\b", "nul", "a/CON.md", "com1.txt", "a\0b", ".git::$INDEX_ALLOCATION/x"]
)
def test_b94_names_that_leave_the_root_or_mean_something_else_are_refused(path: str) -> None:
    with pytest.raises(UnsafePath):
        files.check_safe(path)


@pytest.mark.parametrize(
    "path", ["a", "a/b.md", ".gitmem.toml", "memory/.cursor", "gitless", "console.md", "é/\u4e2d.md", "a b"]
)
def test_ordinary_names_are_fine(path: str) -> None:
    files.check_safe(path)


def test_a_new_version_takes_the_place_of_just_the_expected_one(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    assert files.install(tmp_path, "a.md", File(b"old"), File(b"new")).ok
    assert path.read_bytes() == b"new"
    refused = files.install(tmp_path, "a.md", File(b"old"), File(b"newer"))
    assert (refused.ok, refused.found) == (False, File(b"new"))
    assert path.read_bytes() == b"new"
    assert files.install(tmp_path, "a.md", File(b"new"), None).ok
    assert os.listdir(tmp_path) == []


def test_new_files_and_folders_are_private_and_modes_are_kept(tmp_path: Path) -> None:
    assert files.install(tmp_path, "d/e/a.md", None, File(b"x")).ok
    assert (tmp_path / "d/e/a.md").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700
    (tmp_path / "d/e/a.md").chmod(0o640)
    assert files.install(tmp_path, "d/e/a.md", File(b"x"), File(b"y", MODE_EXECUTABLE)).ok
    assert (tmp_path / "d/e/a.md").stat().st_mode & 0o777 == 0o750


def test_nothing_is_put_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"theirs")
    assert not files.install(tmp_path, "a.md", None, File(b"ours")).ok
    assert (tmp_path / "a.md").read_bytes() == b"theirs"


def test_links_are_replaced_as_links(tmp_path: Path) -> None:
    os.symlink("old", tmp_path / "l")
    assert files.install(tmp_path, "l", File(b"old", MODE_SYMLINK), File(b"new", MODE_SYMLINK)).ok
    assert os.readlink(tmp_path / "l") == "new"


@pytest.mark.parametrize("exchange", [True, False])
def test_a_writer_that_is_faster_keeps_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    """A writer replaces the file just before our rename: its version is put back and reported."""
    path = tmp_path / "a.md"
    path.write_bytes(b"old")

    def before(operation: str, target: str) -> None:
        if (
            operation == ("exchange" if exchange else "rename")
            and target == str(path)
            and path.read_bytes() == b"old"
        ):
            (tmp_path / "w").write_bytes(b"the writer's")
            os.replace(tmp_path / "w", path)
        if not exchange and operation == "exchange":
            raise syscalls.NoExchange

    def before_rename(operation: str, target: str) -> None:
        before(operation, str(path) if operation == "rename" else target)

    monkeypatch.setattr(syscalls, "before", before if exchange else before_rename)
    done = files.install(tmp_path, "a.md", File(b"old"), File(b"ours"))
    assert (done.ok, done.found) == (False, File(b"the writer's"))
    assert path.read_bytes() == b"the writer's"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_writer_that_is_faster_twice_keeps_its_newest_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    versions = [b"first", b"second"]

    def before(operation: str, target: str) -> None:
        if operation == "exchange" and versions:
            (tmp_path / "w").write_bytes(versions.pop(0))
            os.replace(tmp_path / "w", path)

    monkeypatch.setattr(syscalls, "before", before)
    assert not files.install(tmp_path, "a.md", File(b"old"), File(b"ours")).ok
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["a.md"]


def test_what_a_crash_left_in_the_middle_is_put_back(tmp_path: Path) -> None:
    (tmp_path / ".a.md.1.gitmem-old.tmp").write_bytes(b"old")
    (tmp_path / ".a.md.1.gitmem-new.tmp").write_bytes(b"new")
    files.tidy(tmp_path, "a.md")
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == {"a.md": b"old"}


def test_no_append_is_lost_under_installs(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"")
    done = threading.Event()

    def replace_from_memory() -> None:
        lines = b""
        for number in range(300):
            lines += b"%d\n" % number
            temporary = tmp_path / "t"
            temporary.write_bytes(lines)
            os.replace(temporary, path)
        done.set()

    writer = threading.Thread(target=replace_from_memory)
    writer.start()
    while not done.is_set():
        current = files.read_stable(tmp_path, "log").file
        if current is not None and not current.data.startswith(b"# "):
            files.install(tmp_path, "log", current, File(b"# " + current.data))
    writer.join()
    assert path.read_bytes().removeprefix(b"# ") == b"".join(b"%d\n" % number for number in range(300))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.none(), st.binary(max_size=8)), st.one_of(st.none(), st.binary(max_size=8)))
def test_after_an_install_the_file_is_the_new_one_and_nothing_is_left_over(
    tmp_path: Path, old: bytes | None, new: bytes | None
) -> None:
    path = tmp_path / "x"
    path.unlink(missing_ok=True)
    if old is not None:
        path.write_bytes(old)
    expected, wanted = (None if data is None else File(data) for data in (old, new))
    assert files.install(tmp_path, "x", expected, wanted).ok
    assert files.read_stable(tmp_path, "x").file == wanted
    assert set(os.listdir(tmp_path)) <= {"x"}
