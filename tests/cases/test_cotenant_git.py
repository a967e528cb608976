"""Bug reports about sharing a folder or a repository with people and their git: their work is never in danger, nor is ours.

Each situation is made anew with plain git; what gitmem then does is the real thing, in process or as a daemon.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.actions import report
from gitmem.actions.capture import Capture
from gitmem.core.model import File
from gitmem.edges import gitdir, workspace
from gitmem.errors import RepositoryBusy, RepositoryRefused
from tests.cases.people import (
    attempt,
    blobs,
    capture,
    commit_all,
    commit_beside,
    committed,
    every_byte,
    git,
    head,
    keep,
    kept,
    lay,
    repository,
    touched,
)
from tests.e2e.running import Daemon, eventually, gitmem, watching

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="plain git is not installed"),
    pytest.mark.timeout(120),
]
OLD = 7200.0
"""Seconds; a lock of that age was left behind."""


def pending(root: Path) -> list[str]:
    return git(root, "for-each-ref", "--format=%(refname)", "refs/gitmem/pending").split()


def changes(root: Path) -> set[str]:
    return set(git(root, "status", "--porcelain").splitlines())


def append(path: Path, text: str) -> None:
    with path.open("a", newline="") as file:
        file.write(text)


# B12: a workspace inside somebody's repository, or with an ignore file of its own.


def test_b12_a_workspace_inside_a_repository_leaves_that_repository_as_it_is(tmp_path: Path) -> None:
    parent = repository(
        tmp_path / "parent",
        {".gitignore": "build/\n*.private\nlast", "ws/.gitignore": "mine\n", "ws/memory/MEMORY.md": "# M\n"},
    )
    before = every_byte(parent)
    for _ in range(2):
        assert "inside the repository" in gitmem("init", parent / "ws").stdout or _
    assert every_byte(parent) == before
    assert changes(parent) == set()
    assert not (parent / "ws" / ".git").exists()
    assert workspace.find(parent / "ws").separate
    refused = gitmem("init", "--adopt", tmp_path / "parent" / "ws", check=False)
    assert refused.returncode == 0 or "adopt" in refused.stderr
    with kept(parent / "ws") as opened:
        assert opened.repo.file(opened.repo.head(), "memory/MEMORY.md") == File(b"# M\n")


def test_b12_adopting_the_repository_around_the_workspace_is_refused(tmp_path: Path) -> None:
    parent = repository(tmp_path / "parent", {"ws/memory/MEMORY.md": "# M\n"})
    before = every_byte(parent)
    refused = gitmem("init", "--adopt", parent / "ws", check=False)
    assert refused.returncode == 2
    assert every_byte(parent) == before


def test_b12_an_ignore_file_keeps_every_byte(tmp_path: Path) -> None:
    lines = b"mine/\n!mine/keep\r\nno newline at the end"
    lay(tmp_path / "plain", {".gitignore": lines, "memory/MEMORY.md": "# M\n"})
    for _ in range(2):
        gitmem("init", tmp_path / "plain")
        assert (tmp_path / "plain" / ".gitignore").read_bytes() == lines
    assert attempt(tmp_path / "plain", "check-ignore", "mine/x").returncode == 0


# B27: line endings.

CRLF_ENTRY = b'{"cursor": 1, "timestamp": "2026-02-01 10:00", "content": "a"}\r\n'


def windows(root: Path) -> Path:
    """A repository with CRLF files in it, whose owner turned conversion on later."""
    repository(root, {"memory/history.jsonl": CRLF_ENTRY, "memory/.dream_cursor": b"1\r\n"})
    git(root, "config", "core.autocrlf", "input")
    lay(root, {".gitattributes": "*.md text eol=lf\n", "SOUL.md": "- a\n", "USER.md": b"\xef\xbb\xbf- bom\n"})
    commit_all(root, "attributes")
    return root


def test_b27_idle_means_no_commit_whatever_the_line_ending_settings(tmp_path: Path) -> None:
    root = windows(tmp_path / "ws")
    keep(root)
    for setting in ("input", "true", "false"):
        git(root, "config", "core.autocrlf", setting)
        (root / "memory" / "history.jsonl").touch()
        before = head(root)
        with kept(root) as opened:
            assert capture(opened).commits == ()
        assert head(root) == before
        assert changes(root) == set()


@pytest.mark.slow
def test_b27_committed_lines_keep_their_endings_and_git_agrees(tmp_path: Path) -> None:
    root = windows(tmp_path / "ws")
    keep(root)
    with watching(root) as daemon:
        grown = CRLF_ENTRY + b'{"cursor": 2, "timestamp": "2026-02-01 11:00", "content": "b"}\n'
        (root / "memory" / "history.jsonl").write_bytes(grown)
        (root / "SOUL.md").write_bytes(b"- a\n- b\n")
        eventually("it is committed", lambda: committed(root, "memory/history.jsonl") == grown)
        daemon.flush()
        assert changes(root) == set()
        before = head(root)
        for name in ("memory/history.jsonl", "SOUL.md", "USER.md"):
            (root / name).touch()
        daemon.flush()
        assert head(root) == before


def test_b27_our_own_repository_stores_exact_bytes_and_status_is_clean(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    files = {"memory/history.jsonl": CRLF_ENTRY, "SOUL.md": b"a\r\nb\nc\r", "memory/.dream_cursor": b"1\r\n"}
    lay(root, {**files, ".gitattributes": "* text=auto eol=crlf\n"})
    gitmem("init", root)
    for setting in ("input", "true"):
        git(root, "config", "core.autocrlf", setting)
        assert {line for line in changes(root) if not line.startswith("??")} == set()
        for name, data in files.items():
            assert committed(root, name) == data
            (root / name).unlink()
            git(root, "checkout", "-q", "--", name)
            assert (root / name).read_bytes() == data


# B30: local texts in the way of what is on the remote.


def test_b30_local_texts_are_committed_before_anything_else_and_nobody_is_overwritten(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    first = repository(tmp_path / "first", {"memory/MEMORY.md": "one\n"})
    git(first, "push", "-q", str(remote), "main")
    git(tmp_path, "clone", "-q", "-b", "main", str(remote), "second")
    second = tmp_path / "second"
    lay(
        first, {"memory/MEMORY.md": "one\ntheirs\n", "skills/NEW.md": "theirs\n", "notes.md/x.md": "theirs\n"}
    )
    commit_all(first, "from the first")
    git(first, "push", "-q", str(remote), "main")
    local = {
        "memory/MEMORY.md": "mine\none\n",
        "skills/NEW.md": "mine, untracked\n",
        "notes.md": "mine, a file\n",
    }
    lay(second, local)
    gitmem("init", "--adopt", second)
    assert {name: (second / name).read_text() for name in local} == local
    assert {name: committed(second, name) for name in local} == {n: t.encode() for n, t in local.items()}
    gitmem("remote", "add", "backup", remote, "-C", second)
    assert gitmem("push", "-C", second, check=False).returncode != 0
    assert git(remote, "rev-parse", "main") == git(first, "rev-parse", "main")
    assert {name: (second / name).read_text() for name in local} == local


# B35: somebody else repacks.


def packs(root: Path) -> Path:
    """A history in three packs."""
    repository(root, {"SOUL.md": "line 0\n"})
    for number in range(1, 12):
        append(root / "SOUL.md", f"line {number}\n")
        commit_all(root, f"c{number}")
        if number % 4 == 3:
            git(root, "repack", "-q")
    return root


def test_b35_an_open_repository_survives_a_repack(tmp_path: Path) -> None:
    root = packs(tmp_path / "ws")
    keep(root)
    with kept(root) as opened:
        repo = opened.repo
        newest = repo.head()
        assert newest is not None
        assert repo.info(newest).subject == "c11"
        repo.files(newest)
        git(root, "repack", "-adq")
        git(root, "prune-packed")
        commits = list(repo.history(repo.head()))
        assert len(commits) == 12
        assert repo.file(commits[-1].sha, "SOUL.md") == File(b"line 0\n")
        assert repo.changes(commits[3].sha)
        append(root / "SOUL.md", "ours\n")
        assert len(capture(opened).commits) == 1
        git(root, "repack", "-adq")
        append(root / "SOUL.md", "ours again\n")
        assert len(capture(opened).commits) == 1
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""


@pytest.mark.slow
def test_b35_commits_and_somebodys_gc_in_parallel(tmp_path: Path) -> None:
    root = packs(tmp_path / "ws")
    keep(root)
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git gc -q --prune=now; done"
    with kept(root) as opened:
        capturing = Capture(opened)
        capturing.scan()
        gc = subprocess.Popen(["sh", "-c", script], cwd=root, stderr=subprocess.DEVNULL)
        made = 0
        while gc.poll() is None or made < 50:
            append(root / "SOUL.md", f"mine {made}\n")
            made += len(capturing.run({"SOUL.md"}).commits)
        opened.repo.recheck()
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""
    assert int(git(root, "rev-list", "--count", "HEAD")) == 12 + made


# B39: repositories of other shapes.


def linked(base: Path) -> Path:
    repository(base / "main", {"SOUL.md": "x\n"})
    git(base / "main", "worktree", "add", "-q", str(base / "ws"), "-b", "agent")
    return base / "ws"


def elsewhere(base: Path) -> Path:
    root = base / "ws"
    root.mkdir()
    git(base, "init", "-q", "--separate-git-dir", str(base / "gitdir"), str(root))
    lay(root, {"SOUL.md": "x\n"})
    commit_all(root, "base")
    return root


@pytest.mark.slow
@pytest.mark.parametrize(("make", "branch"), [(linked, "agent"), (elsewhere, "main")])
def test_b39_a_repository_behind_a_git_file_gets_one_normal_commit(
    tmp_path: Path, make: Callable[[Path], Path], branch: str
) -> None:
    root = make(tmp_path)
    before = head(root)
    gitmem("init", "--adopt", root)
    with watching(root) as daemon:
        append(root / "SOUL.md", "y\n")
        eventually("it is committed", lambda: committed(root, "SOUL.md") == b"x\ny\n")
        daemon.flush()
        assert changes(root) == set()
    assert git(root, "symbolic-ref", "HEAD").strip() == f"refs/heads/{branch}"
    assert git(root, "rev-parse", "HEAD~1").strip() == before
    assert touched(root) == ["SOUL.md"]
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""
    assert gitmem("log", "-C", root).returncode == 0
    if make is linked:
        assert changes(tmp_path / "main") == set()
        assert git(tmp_path / "main", "rev-parse", "main").strip() == before


def test_b39_worktrees_of_one_repository_keep_their_side_refs_apart(tmp_path: Path) -> None:
    root = linked(tmp_path)
    main = tmp_path / "main"
    keep(root)
    keep(main)
    git(root, "checkout", "-q", "--detach")
    append(root / "SOUL.md", "only here\n")
    with kept(root) as opened, kept(main) as other:
        assert capture(opened).operation == "detached HEAD"
        assert opened.pending_ref != other.pending_ref
        assert opened.inflight_ref != other.inflight_ref
        append(main / "SOUL.md", "only there\n")
        assert len(capture(other).commits) == 1
    assert len(pending(main)) == 1
    assert git(main, "rev-list", "--count", "main").strip() == "2"


def foreign_hash(root: Path) -> None:
    git(root.parent, "init", "-q", "--object-format=sha256", str(root))
    lay(root, {"SOUL.md": "x\n"})
    commit_all(root, "base")


def foreign_extension(root: Path) -> None:
    repository(root, {"SOUL.md": "x\n"})
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.somethingFromTheFuture", "true")


@pytest.mark.parametrize("make", [foreign_hash, foreign_extension])
def test_b39_an_unknown_format_is_refused_before_anything_is_written(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    root = tmp_path / "ws"
    make(root)
    before = every_byte(root)
    refused = gitmem("init", "--adopt", root, check=False)
    assert refused.returncode == 1
    assert "extension" in refused.stderr
    assert every_byte(root) == before
    gitmem("init", root)
    append(root / "SOUL.md", "y\n")
    gitmem("notify", "-C", root, check=False)
    lay(root, {"SOUL.md": "x\n"})
    assert every_byte(root) == before


@pytest.mark.slow
def test_b39_a_format_that_changes_later_stops_the_daemon_from_writing(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {"SOUL.md": "x\n"})
    keep(root)
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.somethingFromTheFuture", "true")
    before = every_byte(root / ".git")
    append(root / "SOUL.md", "y\n")
    assert gitmem("watch", root, check=False).returncode == 1
    after = every_byte(root / ".git")
    assert {n: b for n, b in after.items() if not n.startswith("gitmem/")} == {
        n: b for n, b in before.items() if not n.startswith("gitmem/")
    }


# B53: locks and damage that a crash left.


def one_line_to_commit(root: Path) -> Path:
    repository(root, {"memory/MEMORY.md": "one\n"})
    keep(root)
    append(root / "memory" / "MEMORY.md", "two\n")
    return root


def lock(path: Path, age: float = 0.0) -> Path:
    path.touch()
    then = time.time() - age
    os.utime(path, (then, then))
    return path


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "packed-refs.lock"])
@pytest.mark.parametrize("age", [0.0, OLD])
def test_b53_a_lock_that_commits_do_not_need_does_not_stop_them_and_stays(
    tmp_path: Path, name: str, age: float
) -> None:
    root = one_line_to_commit(tmp_path / "ws")
    held = lock(root / ".git" / name, age)
    with kept(root) as opened:
        assert len(capture(opened).commits) == 1
    assert committed(root, "memory/MEMORY.md") == b"one\ntwo\n"
    assert held.exists()


@pytest.mark.slow
def test_b53_the_index_catches_up_when_its_lock_is_gone(tmp_path: Path) -> None:
    root = one_line_to_commit(tmp_path / "ws")
    held = lock(root / ".git" / "index.lock")
    with watching(root) as daemon:
        eventually("it is committed", lambda: committed(root, "memory/MEMORY.md") == b"one\ntwo\n")
        append(root / "memory" / "MEMORY.md", "three\n")
        daemon.flush()
        assert committed(root, "memory/MEMORY.md") == b"one\ntwo\nthree\n"
        assert held.exists()
        assert changes(root) != set()
        held.unlink()
        eventually("the index catches up", lambda: changes(root) == set())


@pytest.mark.slow
def test_b53_an_index_left_behind_by_a_killed_daemon_catches_up_at_the_next_start(tmp_path: Path) -> None:
    root = one_line_to_commit(tmp_path / "ws")
    held = lock(root / ".git" / "index.lock")
    with watching(root):
        eventually("it is committed", lambda: committed(root, "memory/MEMORY.md") == b"one\ntwo\n")
    held.unlink()
    with watching(root):
        eventually("the index catches up", lambda: changes(root) == set())


@pytest.mark.slow
def test_b53_a_held_branch_is_named_with_its_age_and_commits_resume_when_it_is_free(tmp_path: Path) -> None:
    root = one_line_to_commit(tmp_path / "ws")
    before = head(root)
    held = lock(root / ".git" / "refs" / "heads" / "main.lock", OLD)
    with watching(root) as daemon:
        eventually("it is blocked", lambda: daemon.status()["state"] == "blocked")
        problem = daemon.status()["problem"]
        assert str(held) in problem["text"]
        assert problem["since"] <= time.time()
        shown = gitmem("status", "-C", root)
        assert "blocked" in shown.stdout
        assert str(held) in shown.stdout
        assert "since" in shown.stdout
        assert gitmem("status", "--exit-code", "-C", root, check=False).returncode == 1
        assert head(root) == before
        assert held.exists()
        gitmem("doctor", "--fix", "-C", root, check=False)
        assert not held.exists()
        eventually(
            "it commits by itself", lambda: committed(root, "memory/MEMORY.md") == b"one\ntwo\n", patience=10
        )
        eventually("it says so", lambda: daemon.status()["state"] == "watching")


def test_b53_a_young_branch_lock_is_never_taken_away(tmp_path: Path) -> None:
    root = one_line_to_commit(tmp_path / "ws")
    held = lock(root / ".git" / "refs" / "heads" / "main.lock")
    with kept(root) as opened:
        with pytest.raises(RepositoryBusy, match=r"main\.lock"):
            capture(opened)
        gitmem("doctor", "--fix", "-C", root, check=False)
        assert held.exists()
        held.unlink()
        assert len(capture(opened).commits) == 1


def empty_ref(root: Path) -> str:
    (root / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    return "refs/heads/main"


def empty_object(root: Path) -> str:
    name = git(root, "rev-parse", "HEAD^{tree}").strip()
    path = root / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o600)
    path.write_bytes(b"")
    return name


@pytest.mark.parametrize("harm", [empty_ref, empty_object])
def test_b53_nothing_is_committed_on_top_of_damage(tmp_path: Path, harm: Callable[[Path], str]) -> None:
    root = one_line_to_commit(tmp_path / "ws")
    name = harm(root)
    before = every_byte(root / ".git")
    with kept(root) as opened, pytest.raises(RepositoryRefused, match=name):
        capture(opened)
    for words in (("watch", root), ("init", "--adopt", root), ("doctor", "-C", root)):
        told = gitmem(*words, check=False)
        assert told.returncode != 0
        assert name in told.stdout + told.stderr
    after = every_byte(root / ".git")
    assert {n: b for n, b in after.items() if not n.startswith("gitmem/")} == {
        n: b for n, b in before.items() if not n.startswith("gitmem/")
    }
    assert (root / "memory" / "MEMORY.md").read_text() == "one\ntwo\n"


# B54: a person commits all the time.


@pytest.mark.slow
def test_b54_fifty_commits_of_a_person_never_fail_because_of_us(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {"SOUL.md": "x\n", "work/a.txt": "0\n"})
    keep(root)
    races = 0
    with watching(root) as daemon:
        for number in range(50):
            append(root / "work" / "a.txt", f"{number}\n")
            if number % 5 == 2:
                append(root / "SOUL.md", f"agent {number}\n")
            git(root, "add", "-A")
            races += commit_beside(root, "-q", "--allow-empty", "-m", f"person {number}")
        append(root / "SOUL.md", "the last word\n")
        daemon.flush()
        text = (root / "SOUL.md").read_bytes()
        eventually("all is committed", lambda: committed(root, "SOUL.md") == text)
        eventually("status is clean", lambda: changes(root) == set())
        assert daemon.status()["problem"] is None
    assert races <= 5
    added = git(root, "log", "--format=", "-p", "--", "SOUL.md").splitlines()
    for number in range(2, 50, 5):
        assert added.count(f"+agent {number}") == 1
    assert added.count("+the last word") == 1
    assert git(root, "log", "--format=%s", "--grep=^person").count("person") == 50
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""


@pytest.mark.slow
def test_b54_a_person_who_commits_all_the_time_does_not_fail_while_the_agent_writes(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {"SOUL.md": "x\n", "work/a.txt": "0\n"})
    keep(root)
    races = 0
    done = threading.Event()

    def agent() -> None:
        while not done.wait(0.2):
            append(root / "SOUL.md", "agent\n")

    writing = threading.Thread(target=agent)
    with watching(root) as daemon:
        writing.start()
        try:
            for number in range(50):
                append(root / "work" / "a.txt", f"{number}\n")
                git(root, "add", "work/a.txt")
                races += commit_beside(root, "-q", "-m", f"person {number}")
        finally:
            done.set()
            writing.join()
        daemon.flush()
        text = (root / "SOUL.md").read_bytes()
        eventually("all is committed", lambda: committed(root, "SOUL.md") == text)
        eventually("status is clean", lambda: changes(root) == set())
        assert daemon.status()["problem"] is None
    assert races <= 5
    assert git(root, "log", "--format=%s", "--grep=^person").count("person") == 50


@pytest.mark.slow
def test_b54_a_held_index_does_not_keep_a_change_out_of_history(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {"SOUL.md": "x\n"})
    keep(root)
    with watching(root) as daemon:
        held = lock(root / ".git" / "index.lock")
        append(root / "SOUL.md", "changed meanwhile\n")
        eventually("it is committed", lambda: committed(root, "SOUL.md") == b"x\nchanged meanwhile\n")
        held.unlink()
        eventually("the index catches up", lambda: changes(root) == set())
        daemon.flush()
        assert daemon.status()["problem"] is None
    assert git(root, "rev-list", "--count", "HEAD", "--", "SOUL.md").strip() == "2"


# B55: a person is in the middle of something.

MEMORY = "memory/MEMORY.md"


def two_branches(root: Path) -> Path:
    repository(root, {MEMORY: "base\n", "SOUL.md": "x\n"})
    git(root, "checkout", "-q", "-b", "other")
    lay(root, {MEMORY: "theirs\n"})
    commit_all(root, "theirs")
    git(root, "checkout", "-q", "main")
    lay(root, {MEMORY: "ours\n"})
    commit_all(root, "ours")
    for number in range(2):
        lay(root, {"later.txt": f"later {number}\n"})
        commit_all(root, f"later {number}")
    return root


def begin_merge(root: Path) -> None:
    attempt(root, "merge", "-q", "other")


def begin_rebase(root: Path) -> None:
    attempt(root, "rebase", "-q", "other")


def begin_pick(root: Path) -> None:
    attempt(root, "cherry-pick", "other")


def begin_revert(root: Path) -> None:
    lay(root, {MEMORY: "newest\n"})
    commit_all(root, "newest")
    attempt(root, "revert", "--no-edit", "HEAD~3")


def begin_bisect(root: Path) -> None:
    git(root, "bisect", "start", "-q", "HEAD", "HEAD~2")


def begin_detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


OPERATIONS = {
    "merge": (begin_merge, ("merge", "--abort")),
    "rebase": (begin_rebase, ("rebase", "--abort")),
    "cherry-pick": (begin_pick, ("cherry-pick", "--abort")),
    "revert": (begin_revert, ("revert", "--abort")),
    "bisect": (begin_bisect, ("bisect", "reset")),
    "detached HEAD": (begin_detached, ("checkout", "-q", "main")),
}
SETTLED = {
    "merge": ("commit", "-q", "-m", "merged"),
    "rebase": ("rebase", "--continue"),
    "cherry-pick": ("cherry-pick", "--continue"),
    "revert": ("revert", "--continue"),
}


def refs(root: Path) -> str:
    return git(root, "for-each-ref", "refs/heads") + git(root, "rev-parse", "HEAD")


def no_markers(root: Path) -> None:
    assert [data for data in blobs(root) if b"<<<<<<<" in data or b">>>>>>>" in data] == []


def agent_writes_meanwhile(root: Path, daemon: Daemon, name: str) -> None:
    """The agent's change goes to the side ref and nothing of the person's moves."""
    before = refs(root)
    append(root / "SOUL.md", "agent\n")
    eventually("it is on the side ref", lambda: pending(root))
    daemon.flush()
    (side,) = pending(root)
    assert committed(root, "SOUL.md", side) == b"x\nagent\n"
    assert refs(root) == before
    assert daemon.status()["operation"] == name
    shown = gitmem("status", "-C", root)
    assert name in shown.stdout
    no_markers(root)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_b55_what_the_agent_writes_meanwhile_waits_aside_and_is_folded_in_without_a_restart(
    tmp_path: Path, name: str
) -> None:
    start, stop = OPERATIONS[name]
    root = two_branches(tmp_path / "ws")
    keep(root)
    start(root)
    assert name == "detached HEAD" or gitdir.operation_in_progress(gitdir.resolve(root / ".git")) == name
    with watching(root) as daemon:
        agent_writes_meanwhile(root, daemon, name)
        git(root, *stop)
        eventually("it is folded in", lambda: not pending(root))
        eventually(
            "the disk is on the branch",
            lambda: committed(root, "SOUL.md", "main") == (root / "SOUL.md").read_bytes(),
        )
        assert b"x\nagent\n" in blobs(root, "main")
        assert daemon.status()["operation"] is None
        eventually("status is clean", lambda: changes(root) == set())
    no_markers(root)
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTLED)
def test_b55_a_person_can_go_on_after_a_commit_of_ours(tmp_path: Path, name: str) -> None:
    root = two_branches(tmp_path / "ws")
    keep(root)
    OPERATIONS[name][0](root)
    with watching(root) as daemon:
        agent_writes_meanwhile(root, daemon, name)
        lay(root, {MEMORY: "settled\n"})
        git(root, "add", "-A" if name == "rebase" else MEMORY)
        git(root, *SETTLED[name])
        eventually("it is folded in", lambda: not pending(root))
        eventually(
            "the agent's is on the branch", lambda: committed(root, "SOUL.md", "main") == b"x\nagent\n"
        )
        assert committed(root, MEMORY, "main") == b"settled\n"
        eventually("status is clean", lambda: changes(root) == set())
    no_markers(root)
    assert git(root, "fsck", "--full", "--strict", "--no-dangling") == ""


@pytest.mark.slow
def test_b55_marks_that_finished_operations_leave_mean_nothing(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "ws")
    keep(root)
    for left in ("REBASE_HEAD", "ORIG_HEAD", "AUTO_MERGE"):
        (root / ".git" / left).write_text(head(root) + "\n")
    with watching(root):
        append(root / "SOUL.md", "agent\n")
        eventually("it is committed", lambda: committed(root, "SOUL.md") == b"x\nagent\n")
    assert pending(root) == []


@pytest.mark.slow
def test_b55_a_stash_that_does_not_apply_is_no_operation_but_its_markers_stay_out(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {MEMORY: "base\n", "SOUL.md": "x\n"})
    keep(root)
    lay(root, {MEMORY: "stashed\n"})
    git(root, "stash", "-q")
    lay(root, {MEMORY: "newer\n"})
    commit_all(root, "newer")
    with watching(root) as daemon:
        assert attempt(root, "stash", "pop").returncode != 0
        append(root / "SOUL.md", "agent\n")
        eventually("the agent's is committed", lambda: committed(root, "SOUL.md") == b"x\nagent\n")
        daemon.flush()
        no_markers(root)
        assert committed(root, MEMORY) == b"newer\n"
        lay(root, {MEMORY: "both\n"})
        git(root, "add", MEMORY)
        eventually("the settled text is committed", lambda: committed(root, MEMORY) == b"both\n")
    no_markers(root)


def test_b55_a_file_with_markers_that_was_marked_as_settled_stays_out_of_the_side_ref(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "ws")
    keep(root)
    begin_merge(root)
    git(root, "add", MEMORY)
    append(root / "SOUL.md", "agent\n")
    with kept(root) as opened:
        assert capture(opened).operation == "merge"
    (side,) = pending(root)
    assert touched(root, side) == ["SOUL.md"]


def test_b55_status_names_the_operation_also_without_a_daemon(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "ws")
    keep(root)
    begin_detached(root)
    facts = report.gather(workspace.find(root))
    assert facts["operation"] == "detached HEAD"
    assert any("detached HEAD" in text for text in facts["attention"])


def test_b55_a_workspace_with_a_repository_of_its_own_cares_nothing_for_the_persons_merge(
    tmp_path: Path,
) -> None:
    root = two_branches(tmp_path / "ws")
    begin_merge(root)
    before = every_byte(root / ".git")
    keep(root, adopt=False)
    append(root / "SOUL.md", "agent\n")
    with kept(root) as opened:
        assert opened.workspace.separate
        outcome = capture(opened)
        assert outcome.operation is None
        assert opened.repo.file(opened.repo.head(), "SOUL.md") == File(b"x\nagent\n")
    assert every_byte(root / ".git") == before


# B60: a person's half-staged work.


def half_staged(root: Path) -> Path:
    repository(root, {"memory/MEMORY.md": "m\n", "src/a.c": "int main;\n"})
    append(root / "src" / "a.c", "half a feature\n")
    lay(root, {"src/staged.c": "staged\n"})
    git(root, "add", "src/staged.c")
    append(root / "src" / "staged.c", "not staged\n")
    lay(root, {"scratch.env": "SECRET=1\n"})
    append(root / "memory" / "MEMORY.md", "new\n")
    return root


@pytest.mark.slow
def test_b60_a_commit_of_ours_holds_the_memory_alone_and_the_index_keeps_the_persons_work(
    tmp_path: Path,
) -> None:
    root = half_staged(tmp_path / "ws")
    before = changes(root)
    keep(root)
    with watching(root):
        eventually("it is committed", lambda: committed(root, "memory/MEMORY.md") == b"m\nnew\n")
        eventually("the index knows", lambda: changes(root) == before - {" M memory/MEMORY.md"})
    assert touched(root) == ["memory/MEMORY.md"]
    assert git(root, "show", ":src/staged.c") == "staged\n"
    assert (root / "src" / "staged.c").read_text() == "staged\nnot staged\n"
    assert not [data for data in blobs(root) if b"SECRET" in data]


def test_b60_with_a_git_dir_of_our_own_the_persons_repository_keeps_every_byte(tmp_path: Path) -> None:
    root = half_staged(tmp_path / "ws")
    before = every_byte(root)
    keep(root, adopt=False)
    with kept(root) as opened:
        (commit,) = capture(opened).commits
        assert [change.path for change in opened.repo.changes(commit.sha)] == ["memory/MEMORY.md"]
    assert every_byte(root) == before


@pytest.mark.slow
def test_b60_what_a_person_staged_of_a_memory_file_stays_staged(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {"memory/MEMORY.md": "m\n", "SOUL.md": "x\n"})
    keep(root)
    lay(root, {"memory/MEMORY.md": "m\nstaged\n"})
    git(root, "add", "memory/MEMORY.md")
    lay(root, {"memory/MEMORY.md": "m\nstaged\nand more\n"})
    git(root, "rm", "-q", "--cached", "SOUL.md")
    append(root / "SOUL.md", "agent\n")
    with watching(root) as daemon:
        daemon.flush()
        eventually("it is committed", lambda: committed(root, "SOUL.md") == b"x\nagent\n")
        daemon.flush()
    assert git(root, "show", ":memory/MEMORY.md") == "m\nstaged\n"
    assert "D  SOUL.md" in changes(root)


@pytest.mark.parametrize(
    "settings",
    [
        ("update-index", "--split-index"),
        ("update-index", "--index-version", "4"),
        ("update-index", "--untracked-cache"),
    ],
)
@pytest.mark.slow
def test_b60_special_kinds_of_index_stay_whole(tmp_path: Path, settings: tuple[str, ...]) -> None:
    root = half_staged(tmp_path / "ws")
    attempt(root, *settings)
    before = changes(root)
    keep(root)
    lay(root, {"memory/NEW.md": "new file\n"})
    with watching(root) as daemon:
        daemon.flush()
        eventually("it is committed", lambda: committed(root, "memory/NEW.md") == b"new file\n")
        daemon.flush()
        after = changes(root)
    assert before - after <= {" M memory/MEMORY.md"}
    assert {line for line in after - before if "memory/" not in line} == set()
    assert git(root, "show", ":src/staged.c") == "staged\n"
    if "--split-index" not in settings:
        assert after == before - {" M memory/MEMORY.md"}


# B64 and B98: what a repository's settings would run.


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.slow
def test_b64_signing_programs_and_hooks_that_never_end_delay_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "ws", {"SOUL.md": "x\n"})
    program(tmp_path / "gpg", "sleep 3600")
    for name, value in {
        "commit.gpgsign": "true",
        "gpg.program": str(tmp_path / "gpg"),
        "user.signingkey": "AB",
    }.items():
        git(root, "config", name, value)
    for hook in ("pre-commit", "commit-msg", "reference-transaction", "post-commit"):
        program(root / ".git" / "hooks" / hook, "sleep 3600")
    gitmem("init", "--adopt", root)
    with watching(root) as daemon:
        append(root / "SOUL.md", "y\n")
        eventually("it is committed", lambda: committed(root, "SOUL.md") == b"x\ny\n", patience=10)
        assert daemon.status()["problem"] is None
        children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children")
        assert not children.exists() or children.read_text() == ""
    assert b"gpgsig" not in attempt(root, "cat-file", "commit", "HEAD").stdout


HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-merge", "pre-push",
    "pre-auto-gc", "reference-transaction", "post-index-change", "update", "pre-receive", "post-receive",
    "post-update", "fsmonitor-watchman",
)  # fmt: skip


def hostile(root: Path, mark: Path) -> None:
    """A repository whose settings, attributes and hooks name a program wherever git would run one."""
    repository(root, {"SOUL.md": "x\n", "memory/MEMORY.md": "m\n"})
    run = f"touch {mark}"
    included = root.parent / "included"
    included.write_text(f"[core]\n\tsshCommand = {run}\n[diff]\n\texternal = {run}\n")
    for hook in HOOKS:
        program(root / "hooks" / hook, run)
        program(root / ".git" / "hooks" / hook, run)
    lay(
        root,
        {
            ".gitattributes": "* filter=x diff=x merge=x\n",
            ".git/info/attributes": "* filter=x diff=x merge=x\n",
        },
    )
    values = {
        "core.fsmonitor": f"{run}; false", "core.hooksPath": str(root / "hooks"), "core.editor": run, "core.pager": run,
        "core.askPass": run, "core.gitProxy": run, "credential.helper": f"!{run}", "filter.x.clean": f"{run}; cat",
        "filter.x.smudge": f"{run}; cat", "filter.x.process": run, "filter.x.required": "true",
        "diff.x.textconv": f"{run}; cat", "diff.x.command": run, "diff.external": run, "merge.x.driver": run,
        "gpg.program": run, "gpg.ssh.program": run, "commit.gpgsign": "true", "gc.auto": "1", "alias.status": f"!{run}",
        "remote.origin.url": f'ext::sh -c "{run}"', "protocol.ext.allow": "always", "remote.origin.uploadpack": run,
        "remote.origin.receivepack": run, "remote.origin.vcs": "x", "url.ext::sh -c x.insteadOf": "https://git.invalid/",
        f"url.ext::sh -c '{run}' .insteadOf": str(root.parent), "include.path": str(included),
        "trailer.x.command": run, "pager.log": run, "interactive.diffFilter": run, "sequence.editor": run,
    }  # fmt: skip
    for name, value in values.items():
        with (root / ".git" / "config").open("a") as file:
            section, _, rest = name.partition(".")
            below, _, key = rest.rpartition(".")
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            file.write(f'[{section}{f" {chr(34)}{below}{chr(34)}" if below else ""}]\n\t{key} = "{quoted}"\n')


@pytest.mark.slow
def test_b98_nothing_that_a_repository_names_is_ever_run(tmp_path: Path) -> None:
    root, mark = tmp_path / "ws", tmp_path / "EXECUTED"
    hostile(root, mark)
    backup = tmp_path / "backup.git"
    git(tmp_path, "init", "-q", "--bare", str(backup))
    mark.unlink(missing_ok=True)
    gitmem("init", "--adopt", root)
    with watching(root) as daemon:
        append(root / "SOUL.md", "y\n")
        daemon.flush()
        for words in (
            ("status",), ("log",), ("log", "--follow", "SOUL.md"), ("show", "HEAD"), ("diff",), ("diff", "HEAD~1", "HEAD"),
            ("cat", "SOUL.md"), ("doctor",), ("doctor", "--fix"), ("remote", "list"),
            ("remote", "add", "backup", str(backup)), ("push",), ("revert", "--yes", "HEAD"),
            ("restore", "--yes", "SOUL.md", "--at", "HEAD~1"),
        ):  # fmt: skip
            done = gitmem(*words, "-C", root, check=False)
            assert not mark.exists(), words
            assert "Traceback" not in done.stderr
        refused = gitmem("remote", "add", "evil", f'ext::sh -c "touch {mark}"', "-C", root, check=False)
        assert refused.returncode == 2
        assert daemon.end() == 0
    assert not mark.exists()
    with kept(root) as opened:
        newest = opened.repo.head()
        history = list(opened.repo.history(newest))
        texts = [opened.repo.file(commit.sha, "SOUL.md") for commit in history]
        assert File(b"x\ny\n") in texts
        assert (backup / "refs" / "heads" / "main").exists() or (backup / "packed-refs").exists()
    assert not mark.exists()


def test_b98_the_same_with_a_git_dir_of_our_own(tmp_path: Path) -> None:
    root, mark = tmp_path / "ws", tmp_path / "EXECUTED"
    hostile(root, mark)
    mark.unlink(missing_ok=True)
    before = every_byte(root)
    gitmem("init", root)
    append(root / "SOUL.md", "y\n")
    gitmem("notify", "-C", root, check=False)
    for words in (("status",), ("log",), ("diff",), ("doctor", "--fix")):
        gitmem(*words, "-C", root, check=False)
    assert not mark.exists()
    lay(root, {"SOUL.md": "x\n"})
    assert every_byte(root) == before
