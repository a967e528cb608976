"""Packs that come from a remote: kept whole, private and on the disk, or not at all."""

import os
import stat
import struct
import subprocess
import sys
from contextlib import closing, suppress
from hashlib import sha1
from pathlib import Path

import pytest
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID

from gitmem.core import remote_url
from gitmem.edges import syscalls, trouble
from gitmem.edges.quarantine import Limits, Quarantine
from tests.edges.packs import (
    FILE,
    FOLDER,
    appended,
    blob,
    commit_of,
    everything_is_here,
    objects_of,
    pack_of,
    raw_tree,
    refused,
    take,
    thin,
    whole_record,
)
from tests.edges.repos import MAIN, commit, new_repo, read_ref


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "other.git")


def in_process(git_dir: Path, source: Path) -> str | None:
    """Fetch all that another repository holds; where its main branch is."""
    tip = read_ref(source, MAIN)
    assert tip is not None
    store = DiskObjectStore(str(source / "objects"))
    try:
        return take(git_dir, store[ObjectID(tip.encode())], pack_of(*(store[sha] for sha in store))).sha
    finally:
        store.close()


def damages(pack: bytes) -> dict[str, bytes]:
    """Packs that are not whole."""
    middle = len(pack) // 2
    flipped = pack[:middle] + bytes([pack[middle] ^ 0x55]) + pack[middle + 1 :]
    trailer = sha1(flipped[:-20]).digest()
    return {
        "cut": pack[:-30],
        "no end": pack[:-20],
        "flipped": flipped,
        "flipped, with the right sum": flipped[:-20] + trailer,
        "no pack": b"<html>" * 200,
        "only a header": pack[:12],
        "too many promised": pack[:8] + struct.pack(">I", 99) + pack[12:],
    }


def test_b93_what_comes_is_private_from_its_first_byte(
    git_dir: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[int] = set()

    def watch(operation: str, path: str) -> None:
        del operation, path
        for entry in (git_dir / "objects").glob("tmp_objdir-*/**/*"):
            seen.add(stat.S_IMODE(entry.parent.stat().st_mode))

    commit(other, {"a": b"1"})
    (git_dir / "objects" / "pack").rmdir()
    monkeypatch.setattr(syscalls, "before", watch)
    umask = os.umask(0o022)
    try:
        in_process(git_dir, other)
    finally:
        os.umask(umask)
    packs = git_dir / "objects" / "pack"
    assert stat.S_IMODE(packs.stat().st_mode) == 0o700
    assert sorted(path.suffix for path in packs.iterdir()) == [".idx", ".pack"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in packs.iterdir()} == {0o400}
    assert seen == {0o700}


def test_a_pack_is_on_the_disk_before_it_can_be_seen(
    git_dir: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, str]] = []
    commit(other, {"a": b"1"})
    monkeypatch.setattr(syscalls, "before", lambda what, path: calls.append((what, path[-4:])))
    in_process(git_dir, other)
    assert calls == [
        ("fsync", "pack"), ("fsync", ".idx"), ("rename", "pack"), ("rename", ".idx"), ("fsync_dir", "pack"),
    ]  # fmt: skip


@pytest.mark.parametrize("step", range(5))
def test_a_fetch_that_dies_at_any_step_leaves_all_or_nothing(
    git_dir: Path, other: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    tip = commit(other, {"a": b"1"})
    left = [step]

    def die(operation: str, path: str) -> None:
        del operation, path
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(syscalls, "before", die)
    with suppress(KeyboardInterrupt):
        in_process(git_dir, other)
    monkeypatch.setattr(syscalls, "before", None)
    assert not list((git_dir / "objects").glob("tmp_*"))
    assert in_process(git_dir, other) == tip
    assert everything_is_here(git_dir, tip)


def test_no_objects_at_all_are_refused(git_dir: Path) -> None:
    tip = commit_of(raw_tree())
    assert "missing" in refused(git_dir, tip, pack_of())
    assert "missing" in refused(git_dir, tip, b"")


def test_more_than_the_limits_is_refused(git_dir: Path) -> None:
    files = [blob(os.urandom(500)) for _ in range(20)]
    root = raw_tree(*((b"%02d" % n, FILE, file) for n, file in enumerate(files)))
    tip = commit_of(root)
    pack = pack_of(tip, root, *files)
    assert "bytes" in refused(git_dir, tip, pack, limits=Limits(pack=5000))
    assert "22 objects" in refused(git_dir, tip, pack, limits=Limits(objects=21))
    assert "an object of" in refused(git_dir, tip, pack, limits=Limits(content=499))
    assert "20 files" in refused(git_dir, tip, pack, limits=Limits(files=19))
    assert take(git_dir, tip, pack, limits=Limits(files=20, objects=22)).objects == 22


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory so")
def test_a_process_that_fetches_runs_out_of_memory_before_the_machine_does() -> None:
    program = "from gitmem.edges import fetching; fetching.limit_memory(); bytearray(2 << 30)"
    environ = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, check=False)
    assert done.stderr.decode().splitlines()[-1] == "MemoryError"


def test_what_unfolds_beyond_memory_is_refused(git_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unfold(_: Quarantine) -> None:
        raise MemoryError

    monkeypatch.setattr(Quarantine, "take", unfold)
    root = raw_tree((b"a", FILE, blob()))
    tip = commit_of(root)
    assert "memory" in refused(git_dir, tip, pack_of(tip, root, blob()))


@pytest.mark.parametrize("damage", damages(b"x" * 100))
def test_a_corrupt_pack_is_refused_and_nothing_stays(git_dir: Path, damage: str) -> None:
    file = blob(os.urandom(3000))
    root = raw_tree((b"a", FILE, file))
    tip = commit_of(root)
    before = objects_of(git_dir)
    with pytest.raises(Exception) as caught:
        take(git_dir, tip, damages(pack_of(tip, root, file))[damage])
    assert trouble.explain(caught.value, remote_url.parse("git://host/x.git")).state == "protocol"
    assert objects_of(git_dir) == before


def test_a_byte_that_changed_anywhere_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    file = blob(b"- a fact\n" * 9)
    root = raw_tree((b"a", FILE, file), (b"f", FOLDER, raw_tree((b"a", FILE, file))))
    tip = commit_of(root)
    pack = pack_of(tip, root, raw_tree((b"a", FILE, file)), file)[:-20]
    for place in range(len(pack)):
        git_dir = new_repo(tmp_path / f"{place}")
        changed = pack[:place] + bytes([pack[place] ^ 1 << place % 8]) + pack[place + 1 :]
        try:
            take(git_dir, tip, changed + sha1(changed).digest())
        except Exception:  # noqa: BLE001  (as above)
            assert objects_of(git_dir) == {"info", "pack"}
        else:
            with closing(DiskObjectStore(str(git_dir / "objects"))) as store:
                assert store[file.id] == file
                assert store[tip.id] == tip


def test_a_thin_pack_is_completed_from_what_is_here(git_dir: Path) -> None:
    base = blob(b"- a fact\n" * 10)
    old = raw_tree((b"MEMORY.md", FILE, base))
    first = commit_of(old)
    take(git_dir, first, pack_of(first, old, base))
    grown = blob(base.data + b"- one more\n")
    root = raw_tree((b"MEMORY.md", FILE, grown))
    tip = commit_of(root, first)
    pack = thin(whole_record(tip), whole_record(root), appended(base, b"- one more\n"))
    assert take(git_dir, tip, pack, (first.id.decode(),)).objects == 3
    assert everything_is_here(git_dir, tip.id.decode())


def test_a_thin_pack_on_what_is_not_here_is_refused(git_dir: Path) -> None:
    base = blob(b"- a fact\n" * 10)
    grown = blob(base.data + b"- one more\n")
    root = raw_tree((b"MEMORY.md", FILE, grown))
    tip = commit_of(root)
    before = objects_of(git_dir)
    with pytest.raises(Exception) as caught:
        take(git_dir, tip, thin(whole_record(tip), whole_record(root), appended(base, b"- one more\n")))
    assert trouble.explain(caught.value, remote_url.parse("git://host/x.git")).state == "protocol"
    assert objects_of(git_dir) == before
