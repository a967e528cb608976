"""Fetching from a path, the process that does it, and what is made of what a remote holds now.

Real servers are in tests/e2e/test_fetch_servers.py.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitmem.actions import begin
from gitmem.core import remote_url
from gitmem.edges import bare, incoming, remote, workspace
from gitmem.edges.incoming import Fetched, FetchProcess, Seen
from gitmem.edges.opened import open_workspace
from gitmem.edges.remote import Access
from gitmem.edges.remotes import Remote
from gitmem.errors import RemoteError, RepositoryRefused
from tests.edges.repos import MAIN, all_gone, commit, new_repo, read_ref, set_ref

TRACKING = "refs/remotes/backup/main"


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "other.git")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return bare.create(tmp_path / "backup.git")


def named(url: str | Path) -> Remote:
    return Remote("backup", remote_url.parse(str(url)))


def access(tmp_path: Path) -> Access:
    path = ":".join(entry for entry in sys.path if entry)
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path}
    return Access(config_home=tmp_path, ask_helper=False, environ=environ)


def push(git_dir: Path, target: Path) -> None:
    remote.push(git_dir, named(target), deadline=30, access=access(git_dir.parent))


def fetch(git_dir: Path, target: Path, branch: str = MAIN) -> Fetched:
    return incoming.fetch(git_dir, named(target), branch, deadline=30, access=access(git_dir.parent))


def failure(git_dir: Path, target: Path) -> RemoteError:
    before = objects_of(git_dir)
    with pytest.raises(RemoteError) as caught:
        fetch(git_dir, target)
    assert objects_of(git_dir) == before
    return caught.value


def objects_of(git_dir: Path) -> set[str]:
    """Everything below the folder of objects, whatever it is."""
    root = git_dir / "objects"
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def everything_is_here(git_dir: Path, sha: str) -> bool:
    words = ["git", "-c", "safe.directory=*", "rev-list", "--objects", sha]
    return subprocess.run(words, cwd=git_dir, capture_output=True, check=False).returncode == 0


def test_an_empty_remote_has_no_such_branch(git_dir: Path, target: Path) -> None:
    before = objects_of(git_dir)
    assert fetch(git_dir, target) == Fetched(None, 0, MAIN)
    assert objects_of(git_dir) == before


def test_a_first_fetch_brings_all_and_moves_no_ref(git_dir: Path, other: Path, target: Path) -> None:
    for number in range(3):
        tip = commit(other, {"SOUL.md": b"soul\n", "memory/MEMORY.md": b"- fact\n" * number})
    push(other, target)
    found = fetch(git_dir, target)
    assert (found.sha, found.branch) == (tip, MAIN)
    assert found.objects == 13
    assert everything_is_here(git_dir, tip)
    assert not [path for path in (git_dir / "refs").rglob("*") if path.is_file()]


def test_a_later_fetch_brings_what_is_new_and_then_nothing(git_dir: Path, other: Path, target: Path) -> None:
    files = {f"memory/{n}.md": b"- %d\n" % n for n in range(30)}
    set_ref(git_dir, TRACKING, commit(other, files))
    push(other, target)
    fetch(git_dir, target)
    tip = commit(other, {**files, "memory/7.md": b"- other\n"})
    push(other, target)
    assert fetch(git_dir, target) == Fetched(tip, 4, MAIN)
    set_ref(git_dir, TRACKING, tip)
    before = objects_of(git_dir)
    assert fetch(git_dir, target) == Fetched(tip, 0, MAIN)
    assert objects_of(git_dir) == before


def test_a_branch_that_we_are_ahead_of_brings_nothing(git_dir: Path, other: Path, target: Path) -> None:
    base = commit(other, {"a": b"1"})
    assert commit(git_dir, {"a": b"1"}) == base
    push(other, target)
    commit(git_dir, {"a": b"2"})
    assert fetch(git_dir, target) == Fetched(base, 0, MAIN)


def test_another_branch_is_fetched_by_its_name(git_dir: Path, other: Path, target: Path) -> None:
    tip = commit(other, {"a": b"1"}, ref="refs/heads/notes")
    remote.push(other, named(target), ["refs/heads/notes"], deadline=30, access=access(other.parent))
    assert fetch(git_dir, target).sha is None
    assert fetch(git_dir, target, "refs/heads/notes") == Fetched(tip, 3, "refs/heads/notes")


def test_a_ref_that_names_what_the_remote_has_not_is_told(git_dir: Path, target: Path) -> None:
    set_ref(target, MAIN, "1" * 40)
    error = failure(git_dir, target)
    assert error.state == "protocol"
    assert "damaged" in str(error)


def test_a_remote_that_lost_an_object_is_told(git_dir: Path, other: Path, tmp_path: Path) -> None:
    for gone in range(3):
        there = bare.create(tmp_path / f"damaged{gone}.git")
        shutil.copytree(other / "objects", there / "objects", dirs_exist_ok=True)
        set_ref(there, MAIN, commit(there, {"a": b"%d" % gone}, ref=None))
        sorted((there / "objects").glob("??/*"))[gone].unlink()
        assert failure(git_dir, there).state == "protocol"


def test_a_remote_that_lost_a_new_object_is_told(git_dir: Path, other: Path, tmp_path: Path) -> None:
    base = commit(other, {"a": b"0"})
    there = bare.create(tmp_path / "damaged.git")
    push(other, there)
    fetch(git_dir, there)
    set_ref(git_dir, TRACKING, base)
    for gone in range(3):
        before = set((there / "objects").glob("??/*"))
        set_ref(there, MAIN, commit(there, {"a": b"gone %d" % gone}, parents=(base,), ref=None))
        sorted(set((there / "objects").glob("??/*")) - before)[gone].unlink()
        error = failure(git_dir, there)
        assert error.state == "protocol"
        assert "damaged" in str(error)


def test_a_path_whose_refs_are_packed_is_fetched(git_dir: Path, other: Path, target: Path) -> None:
    tip = commit(other, {"a": b"1"})
    push(other, target)
    (target / MAIN).unlink()
    (target / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted\n{tip} {MAIN}\n")
    assert fetch(git_dir, target).sha == tip


def test_histories_that_went_apart_bring_only_theirs(git_dir: Path, other: Path, target: Path) -> None:
    files = {f"{n}.md": b"%d\n" % n for n in range(20)}
    base = commit(other, files)
    push(other, target)
    fetch(git_dir, target)
    set_ref(git_dir, TRACKING, base)
    commit(git_dir, {"a": b"ours"}, parents=(base,))
    for number in range(5):
        tip = commit(other, {**files, "3.md": b"theirs %d\n" % number})
    push(other, target)
    assert fetch(git_dir, target) == Fetched(tip, 15, MAIN)
    assert everything_is_here(git_dir, tip)


def test_no_repository_and_one_with_files_checked_out_are_told(git_dir: Path, tmp_path: Path) -> None:
    assert failure(git_dir, tmp_path / "nowhere").state == "missing"
    assert failure(git_dir, new_repo(tmp_path / "plain")).state == "refused"


def test_a_damaged_ref_of_ours_is_no_fault_of_the_remote(git_dir: Path, target: Path) -> None:
    set_ref(git_dir, TRACKING, "")
    with pytest.raises(RepositoryRefused):
        fetch(git_dir, target)


def test_a_ref_of_ours_that_names_nothing_does_not_stop_a_fetch(
    git_dir: Path, other: Path, target: Path
) -> None:
    set_ref(git_dir, "refs/heads/broken", "2" * 40)
    tip = commit(other, {"a": b"1"})
    push(other, target)
    assert fetch(git_dir, target).sha == tip


def test_more_refs_than_a_request_holds_do_not_stop_a_fetch(git_dir: Path, other: Path, target: Path) -> None:
    refs = git_dir / "refs" / "heads" / "many"
    refs.mkdir()
    for number in range(1500):
        (refs / f"{number}").write_text(f"{number:040x}\n")
    tip = commit(other, {"a": b"1"})
    push(other, target)
    assert fetch(git_dir, target).sha == tip


def given_up(process: FetchProcess) -> RemoteError:
    """How a fetch that brings nothing ends; no process of it is left."""
    with process:
        while True:
            try:
                assert process.poll() is None
            except RemoteError as error:
                assert all_gone(process.pid)
                return error
            time.sleep(0.02)


def test_b34_a_fetch_that_hangs_ends_in_time_and_leaves_nobody(git_dir: Path, tmp_path: Path) -> None:
    before = objects_of(git_dir)
    with socket.create_server(("127.0.0.1", 0)) as tarpit:
        to = named(f"git://127.0.0.1:{tarpit.getsockname()[1]}/x.git")
        process = FetchProcess.start(git_dir, to, MAIN, deadline=1, access=access(tmp_path))
        assert given_up(process).state == "timeout"
    assert objects_of(git_dir) == before


def test_b34_a_fetch_can_be_cancelled(git_dir: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tarpit:
        to = named(f"git://127.0.0.1:{tarpit.getsockname()[1]}/x.git")
        process = FetchProcess.start(git_dir, to, MAIN, deadline=60, access=access(tmp_path))
        assert process.fileno() >= 0
        process.cancel()
        assert given_up(process).state == "timeout"


def test_what_a_killed_fetch_left_is_taken_away_by_the_next(git_dir: Path, other: Path, target: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left = git_dir / "objects" / f"tmp_objdir-incoming-{int(dead.stdout)}-abc"
    running = git_dir / "objects" / f"tmp_objdir-incoming-{os.getpid()}-abc"
    (left / "pack").mkdir(parents=True)
    (left / "pack" / "tmp_pack_x").write_bytes(b"PACK")
    running.mkdir()
    commit(other, {"a": b"1"})
    push(other, target)
    fetch(git_dir, target)
    assert not left.exists()
    assert running.exists()


def test_b75_what_a_remote_holds_is_judged_by_what_it_held(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    git_dir, to = root / ".git", named(tmp_path / "backup.git")
    first = commit(git_dir, {"a": b"1"}, parents=(), ref=None, when=2_000_000_000)
    second = commit(git_dir, {"a": b"2"}, parents=(first,), ref=None, when=1_000_000_000)
    strange = commit(git_dir, {"b": b"1"}, parents=(), ref=None)
    merged = commit(git_dir, {"a": b"2", "b": b"1"}, parents=(strange, second), ref=None)
    with open_workspace(workspace.find(root)) as opened:

        def judged(sha: str | None) -> Seen:
            return incoming.judge(opened, to, MAIN, sha)

        assert judged(None) is Seen.NEW
        assert judged(second) is Seen.NEW
        assert incoming.note_seen(opened, to, MAIN, second)
        assert read_ref(git_dir, TRACKING) == second
        assert b"fetch: from backup" in (git_dir / "logs" / TRACKING).read_bytes()
        assert judged(second) is Seen.SAME
        assert judged(merged) is Seen.AHEAD
        assert judged(first) is Seen.REWRITTEN, "set back to what it was before"
        assert judged(strange) is Seen.REWRITTEN
        assert judged(None) is Seen.GONE
        assert read_ref(git_dir, TRACKING) == second, "judging moves nothing"
        incoming.forget(opened, to)
        assert judged(strange) is Seen.NEW
