"""What of a remote's answer is believed and what is refused: objects that are missing, evil or endless."""

from pathlib import Path

import pytest
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ShaFile

from tests.edges.packs import (
    FILE,
    FOLDER,
    LINK,
    blob,
    commit_of,
    everything_is_here,
    pack_of,
    raw_tree,
    refused,
    take,
)
from tests.edges.repos import new_repo


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


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
