"""What of a remote's answer is kept and what is refused: packs that are whole, damaged, incomplete, evil and huge."""

import os
import stat
import struct
import subprocess
import sys
from contextlib import closing, suppress
from hashlib import sha1
from pathlib import Path
from typing import Any
from zlib import compress

import pytest
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import write_pack_objects

from gitmem.core import remote_url
from gitmem.edges import syscalls, trouble
from gitmem.edges.fetching import Fetch
from gitmem.edges.quarantine import Limits, Quarantine
from gitmem.errors import RemoteError
from tests.edges.repos import MAIN, commit, new_repo, read_ref

TRACKING = "refs/remotes/backup/main"
FILE, LINK, FOLDER = 0o100644, 0o120000, 0o040000
Entry = tuple[bytes, int, ShaFile]


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "other.git")


def objects_of(git_dir: Path) -> set[str]:
    """Everything below the folder of objects, whatever it is."""
    root = git_dir / "objects"
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def everything_is_here(git_dir: Path, sha: str) -> bool:
    words = ["git", "-c", "safe.directory=*", "rev-list", "--objects", sha]
    return subprocess.run(words, cwd=git_dir, capture_output=True, check=False).returncode == 0


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


class Server:
    """In the place of a client: says where the branch is, and answers with a pack of these objects."""

    def __init__(self, tip: ObjectID, pack: bytes) -> None:
        self._tip, self._pack = tip, pack
        self.wanted: list[ObjectID] = []

    def fetch_pack(self, *arguments: Any, **_: Any) -> None:
        """As dulwich's: path, what is wanted, what is had, where the pack goes, where words go."""
        _path, wants, _walker, write, _hear = arguments
        self.wanted = wants({MAIN.encode(): self._tip}, None)
        if self.wanted:
            for start in range(0, len(self._pack), 1000):
                write(self._pack[start : start + 1000])


def pack_of(*objects: ShaFile) -> bytes:
    data = bytearray()
    write_pack_objects(data.extend, list(dict.fromkeys(objects)), object_format=Blob().object_format)
    return bytes(data)


def raw_tree(*entries: Entry) -> Tree:
    """A tree of these entries as they stand, which no honest program writes."""
    raw = b"".join(
        b"%o %s\0" % (mode, name) + bytes.fromhex(found.id.decode()) for name, mode, found in entries
    )
    tree = ShaFile.from_raw_string(Tree.type_num, raw)
    assert isinstance(tree, Tree)
    return tree


def commit_of(tree: ShaFile, *parents: ShaFile, when: int = 1_767_600_000) -> Commit:
    made = Commit()
    made.tree, made.parents = tree.id, [parent.id for parent in parents]
    made.author = made.committer = b"stranger <s@example.invalid>"
    made.author_time = made.commit_time = when
    made.author_timezone = made.commit_timezone = 0
    made.message = b"x\n"
    return made


def blob(data: bytes = b"x\n") -> Blob:
    return Blob.from_string(data)


def take(
    git_dir: Path, tip: ShaFile, pack: bytes, haves: tuple[str, ...] = (), limits: Limits | None = None
) -> Fetch:
    """Fetch from such a server, in this process."""
    store = DiskObjectStore(str(git_dir / "objects"))
    try:
        found = Fetch(store, MAIN, haves, limits)
        found.run(lambda: (Server(tip.id, pack), ""))  # type: ignore[arg-type, return-value]
        return found
    finally:
        store.close()


def in_process(git_dir: Path, source: Path) -> str | None:
    """Fetch all that another repository holds; where its main branch is."""
    tip = read_ref(source, MAIN)
    assert tip is not None
    store = DiskObjectStore(str(source / "objects"))
    try:
        return take(git_dir, store[ObjectID(tip.encode())], pack_of(*(store[sha] for sha in store))).sha
    finally:
        store.close()


def refused(
    git_dir: Path, tip: ShaFile, pack: bytes, haves: tuple[str, ...] = (), limits: Limits | None = None
) -> str:
    """What is said of an answer that must be refused; nothing of it may stay."""
    before = objects_of(git_dir)
    with pytest.raises(RemoteError) as caught:
        take(git_dir, tip, pack, haves, limits)
    assert objects_of(git_dir) == before
    assert caught.value.state == "protocol"
    return str(caught.value)


def test_a_whole_pack_is_taken(git_dir: Path) -> None:
    file, folder = blob(), raw_tree((b"b", FILE, blob()))
    root = raw_tree((b"a", FILE, file), (b"f", FOLDER, folder), (b"l", LINK, file))
    tip = commit_of(root)
    found = take(git_dir, tip, pack_of(tip, root, folder, file))
    assert (found.sha, found.objects) == (tip.id.decode(), 4)
    assert everything_is_here(git_dir, tip.id.decode())


@pytest.mark.parametrize("missing", range(5))
def test_a_pack_without_one_of_the_objects_is_refused(git_dir: Path, missing: int) -> None:
    file, folder = blob(), raw_tree((b"b", FILE, blob(b"y\n")))
    root = raw_tree((b"a", FILE, file), (b"f", FOLDER, folder))
    first = commit_of(root, when=1)
    tip = commit_of(root, first)
    parts = [first, root, folder, file, tip]
    gone = parts.pop(missing)
    assert gone.id.decode()[:10] in refused(git_dir, tip, pack_of(*parts, blob(b"y\n")))


def test_no_objects_at_all_are_refused(git_dir: Path) -> None:
    tip = commit_of(raw_tree())
    assert "missing" in refused(git_dir, tip, pack_of())
    assert "missing" in refused(git_dir, tip, b"")


def test_what_was_left_behind_incomplete_is_asked_for_again(git_dir: Path) -> None:
    file = blob()
    root = raw_tree((b"a", FILE, file))
    tip = commit_of(root)
    store = DiskObjectStore(str(git_dir / "objects"))
    store.add_object(tip)
    store.close()
    take(git_dir, tip, pack_of(tip, root, file))
    assert everything_is_here(git_dir, tip.id.decode())
    assert take(git_dir, tip, b"").objects == 0, "and not once it is whole"


@pytest.mark.parametrize(
    "name",
    [b".git", b".GIT", b".Git ", b"git~1", b".git::$INDEX_ALLOCATION", b"..", b".", b"a\\b", b"con", b"LPT1.txt",
     "\u200c.git".encode(), b"a/b", b""],
)  # fmt: skip
@pytest.mark.parametrize("mode", [FILE, FOLDER, LINK])
def test_b96_names_that_are_never_written_are_refused_with_their_path(
    git_dir: Path, name: bytes, mode: int
) -> None:
    inner = raw_tree((b"config", FILE, blob())) if mode == FOLDER else blob()
    folder = raw_tree((name, mode, inner))
    root = raw_tree((b"SOUL.md", FILE, blob()), (b"skills", FOLDER, folder))
    tip = commit_of(root)
    text = refused(git_dir, tip, pack_of(tip, root, folder, blob(), inner))
    assert "skills/" in text or "tree" in text


@pytest.mark.parametrize(
    "names", [(b"x", b"x"), (b"skills", b"Skills"), ("caf\u00e9".encode(), "cafe\u0301".encode())]
)
def test_b96_a_link_and_a_folder_of_one_name_are_refused(git_dir: Path, names: tuple[bytes, bytes]) -> None:
    link, inner = blob(b"../victim"), raw_tree((b"pwned.txt", FILE, blob()))
    root = raw_tree((names[0], LINK, link), (names[1], FOLDER, inner))
    tip = commit_of(root)
    text = refused(git_dir, tip, pack_of(tip, root, link, inner, blob()))
    assert "twice" in text or "as a link and as a folder" in text


def test_b96_a_link_that_becomes_a_folder_in_the_next_commit_is_taken(git_dir: Path) -> None:
    link, inner = blob(b"../victim"), raw_tree((b"plain.txt", FILE, blob()))
    one, two = raw_tree((b"skills", LINK, link)), raw_tree((b"skills", FOLDER, inner))
    first = commit_of(one)
    tip = commit_of(two, first)
    assert take(git_dir, tip, pack_of(first, tip, one, two, link, inner, blob())).sha == tip.id.decode()


def test_b96_an_evil_commit_below_a_harmless_one_is_refused_too(git_dir: Path) -> None:
    evil, good = raw_tree((b".git", FILE, blob())), raw_tree((b"a", FILE, blob()))
    first = commit_of(evil)
    tip = commit_of(good, first)
    assert "'.git'" in refused(git_dir, tip, pack_of(first, tip, evil, good, blob()))


def test_b96_evil_that_was_here_already_is_seen_all_the_same(git_dir: Path) -> None:
    evil = raw_tree((b".git", FILE, blob()))
    tip = commit_of(evil)
    store = DiskObjectStore(str(git_dir / "objects"))
    for found in (evil, tip, blob()):
        store.add_object(found)
    store.close()
    assert "'.git'" in refused(git_dir, tip, pack_of(tip))


@pytest.mark.parametrize("mode", [0o100600, 0o140000, 0, 0o060000])
def test_entries_of_an_impossible_kind_are_refused(git_dir: Path, mode: int) -> None:
    root = raw_tree((b"a", mode, blob()))
    tip = commit_of(root)
    assert "impossible mode" in refused(git_dir, tip, pack_of(tip, root, blob()))


def test_objects_that_are_not_what_they_are_said_to_be_are_refused(git_dir: Path) -> None:
    folder = raw_tree((b"a", FILE, blob()))
    for root in (raw_tree((b"a", FILE, folder)), raw_tree((b"a", FOLDER, blob()))):
        tip = commit_of(root)
        refused(git_dir, tip, pack_of(tip, root, folder, blob()))
    refused(git_dir, blob(), pack_of(blob()))
    refused(git_dir, folder, pack_of(folder, blob()))
    tip = commit_of(blob())
    refused(git_dir, tip, pack_of(tip, blob()))


def test_a_time_that_no_calendar_knows_is_refused(git_dir: Path) -> None:
    root = raw_tree((b"a", FILE, blob()))
    tip = commit_of(root, when=1 << 62)
    assert "impossible time" in refused(git_dir, tip, pack_of(tip, root, blob()))


def test_another_repositorys_commit_in_a_tree_is_not_asked_for(git_dir: Path) -> None:
    root = raw_tree((b"module", 0o160000, commit_of(raw_tree())))
    tip = commit_of(root)
    assert take(git_dir, tip, pack_of(tip, root)).objects == 2


def test_few_objects_that_stand_for_many_files_are_refused(git_dir: Path) -> None:
    folder = raw_tree((b"f", FILE, blob()))
    kept: list[ShaFile] = [folder, blob()]
    for _ in range(12):
        folder = raw_tree(*((b"%d" % n, FOLDER, folder) for n in range(10)))
        kept.append(folder)
    tip = commit_of(folder)
    assert "files" in refused(git_dir, tip, pack_of(tip, *kept))


def test_endlessly_deep_folders_are_refused(git_dir: Path) -> None:
    folder = raw_tree((b"f", FILE, blob()))
    kept: list[ShaFile] = [folder, blob()]
    for _ in range(2000):
        folder = raw_tree((b"d", FOLDER, folder))
        kept.append(folder)
    tip = commit_of(folder)
    assert "folders inside each other" in refused(git_dir, tip, pack_of(tip, *kept))


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


def header(kind: int, size: int) -> bytes:
    found = bytearray()
    byte, size = (kind << 4) | (size & 15), size >> 4
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    return bytes([*found, byte])


def thin(*records: bytes) -> bytes:
    body = b"PACK" + struct.pack(">II", 2, len(records)) + b"".join(records)
    return body + sha1(body).digest()


def whole_record(found: ShaFile) -> bytes:
    return header(found.type_num, found.raw_length()) + compress(found.as_raw_string())


def appended(base: ShaFile, more: bytes) -> bytes:
    """A delta record: the base, and some bytes."""
    size = base.raw_length()
    assert size < 128
    assert len(more) < 100
    delta = bytes([size, size + len(more), 0x90, size, len(more)]) + more
    return header(7, len(delta)) + bytes.fromhex(base.id.decode()) + compress(delta)


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
