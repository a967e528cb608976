"""The repository: plain git must agree with everything written here."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.core.model import MODE_EXECUTABLE, MODE_SYMLINK, File
from gitmem.edges import gitdir
from gitmem.edges.repo import Repository, Stamp
from gitmem.errors import RepositoryRefused

BRANCH = "refs/heads/main"
STAMP = Stamp("agent <agent@host>", "gitmem <gitmem@host>", 1_760_000_000, 3600)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="plain git is not installed")


def git(repo: Repository, *words: str) -> str:
    result = subprocess.run(["git", f"--git-dir={repo.git.control}", *words], capture_output=True, check=True)
    return result.stdout.decode()


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with Repository(gitdir.create(tmp_path / "ws" / ".git", None, "*.tmp\n")) as repository:
        yield repository


def commit(repo: Repository, files: dict[str, File | None], text: str = "edit: x\n") -> str:
    old = repo.head()
    sha = repo.write(() if old is None else (old,), files, text.encode(), STAMP)
    assert repo.move(BRANCH, old, sha, STAMP)
    return sha


@needs_git
def test_git_reads_what_was_written_and_fsck_is_clean(repo: Repository) -> None:
    files: dict[str, File | None] = {
        "SOUL.md": File(b"one\r\n"),
        "skills/a/run.sh": File(b"#!/bin/sh\n", MODE_EXECUTABLE),
        "skills/a/link": File(b"run.sh", MODE_SYMLINK),
        os.fsdecode(b"memory/\xff.md"): File(b""),
    }
    commit(repo, files)
    commit(repo, {"SOUL.md": None, "memory/MEMORY.md": File(b"x\n")}, "second\n")
    assert git(repo, "fsck", "--full", "--strict") == ""
    assert "100755" in git(repo, "ls-tree", "-r", "HEAD")
    assert git(repo, "show", "HEAD~1:SOUL.md") == "one\r\n"
    assert git(repo, "log", "--format=%s") == "second\nedit: x\n"
    assert git(repo, "reflog", "--format=%gs").startswith("commit: second")


PATHS = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/f", "d/e/g", "h/i", "a.b", "a-b"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.dictionaries(PATHS, st.one_of(st.none(), st.binary(max_size=4)), min_size=1),
        min_size=1,
        max_size=6,
    )
)
def test_trees_patched_step_by_step_hold_just_the_files_of_a_dictionary(
    repo: Repository, steps: list[dict[str, bytes | None]]
) -> None:
    expected: dict[str, bytes] = {}
    tip: str | None = None
    for step in steps:
        files = {path: None if data is None else File(data) for path, data in step.items()}
        tip = repo.write(() if tip is None else (tip,), files, b"x\n", STAMP)
        for path, data in step.items():
            expected.pop(path, None)
            if data is not None:
                expected[path] = data
        entries = repo.files(tip)
        assert {path: repo.read(entry).data for path, entry in entries.items()} == expected
        assert all(repo.entry(tip, path) == entry for path, entry in entries.items())


def test_a_moved_branch_is_noticed_and_nothing_is_overwritten(repo: Repository) -> None:
    first = commit(repo, {"a": File(b"1")})
    ours = repo.write((first,), {"a": File(b"2")}, b"ours\n", STAMP)
    theirs = repo.write((first,), {"b": File(b"3")}, b"theirs\n", STAMP)
    assert repo.move(BRANCH, first, theirs, STAMP)
    assert not repo.move(BRANCH, first, ours, STAMP)
    assert repo.head() == theirs


def test_racing_threads_lose_no_commit(repo: Repository) -> None:
    commit(repo, {"start": File(b"")})

    def work(name: str) -> None:
        with Repository(repo.git) as mine:
            for number in range(10):
                while True:
                    tip = mine.head()
                    assert tip is not None
                    sha = mine.write((tip,), {f"{name}/{number}": File(b"x")}, b"x\n", STAMP)
                    if mine.move(BRANCH, tip, sha, STAMP):
                        break

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(repo.files(repo.head())) == 31
    assert len(list(repo.history(repo.head()))) == 31


def test_a_commit_is_never_older_than_its_parent(repo: Repository) -> None:
    first = repo.write((), {"a": File(b"1")}, b"x\n", Stamp("a <a@b>", "a <a@b>", 2_000_000_000))
    second = repo.write((first,), {"a": File(b"2")}, b"x\n", STAMP)
    assert repo.info(second).time == 2_000_000_000


@needs_git
def test_b35_packs_repacked_by_others_are_found_again(repo: Repository) -> None:
    shas = [commit(repo, {"a": File(b"%d" % number)}) for number in range(6)]
    git(repo, "gc", "-q")
    assert repo.file(shas[0], "a") == File(b"0")
    shas.append(commit(repo, {"a": File(b"six")}))
    git(repo, "repack", "-adq")
    git(repo, "prune-packed")
    assert repo.file(shas[3], "a") == File(b"3")
    shas.append(commit(repo, {"a": File(b"seven")}))
    assert [info.sha for info in repo.history(repo.head())] == shas[::-1]


def test_b53_an_empty_ref_is_refused_by_name(repo: Repository) -> None:
    commit(repo, {"a": File(b"1")})
    (repo.git.common / BRANCH).write_bytes(b"")
    with pytest.raises(RepositoryRefused, match="refs/heads/main"):
        repo.head()


def test_b53_an_empty_object_is_refused_by_name(repo: Repository) -> None:
    sha = commit(repo, {"a": File(b"1")})
    root = repo.root(sha)
    assert root is not None
    name = root.decode()
    path = repo.git.common / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(b"")
    with Repository(repo.git) as fresh, pytest.raises(RepositoryRefused, match=name):
        fresh.files(sha)


def test_b53_an_object_that_a_power_cut_emptied_is_written_again(repo: Repository) -> None:
    commit(repo, {"a": File(b"text")})
    entry = repo.entry(repo.head(), "a")
    assert entry is not None
    path = repo.git.common / "objects" / entry.sha[:2] / entry.sha[2:]
    path.chmod(0o600)
    path.write_bytes(b"")
    with Repository(repo.git) as fresh:
        commit(fresh, {"b": File(b"text")})
        assert fresh.file(fresh.head(), "b") == File(b"text")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("repositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256", "objectformat"),
        ("repositoryformatversion = 1\n[extensions]\n\tsomethingNew = true", "somethingnew"),
        ("repositoryformatversion = 2", "version 2"),
    ],
)
def test_b39_unknown_formats_are_refused_and_not_a_byte_changes(
    tmp_path: Path, lines: str, reason: str
) -> None:
    git_dir = gitdir.create(tmp_path / "r.git", None, "")
    (git_dir.common / "config").write_text(f"[core]\n\t{lines}\n")
    before = {path: path.read_bytes() for path in git_dir.common.rglob("*") if path.is_file()}
    with pytest.raises(RepositoryRefused, match=reason):
        Repository(git_dir)
    assert {path: path.read_bytes() for path in git_dir.common.rglob("*") if path.is_file()} == before


def test_the_repository_is_private_from_the_start(repo: Repository) -> None:
    commit(repo, {"a": File(b"1"), "d/b": File(b"2")})
    for path in (repo.git.control, *repo.git.control.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_only_our_own_left_behind_ref_lock_is_removed(repo: Repository) -> None:
    commit(repo, {"a": File(b"1")})
    foreign = repo.git.common / "refs" / "heads" / "other.lock"
    foreign.write_bytes(b"")
    mine = repo.git.state / "ref-lock-4194303-1"
    mine.write_bytes(b"x")
    left = repo.git.common / (BRANCH + ".lock")
    os.link(mine, left)
    assert repo.refs.clear_own_locks() == [left]
    assert foreign.exists()
    assert not mine.exists()
