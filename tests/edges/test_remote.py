"""Pushing to a path, and the process that does it. Real servers are in tests/e2e/test_push_servers.py."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.core import remote_url
from gitmem.edges import bare, remote, remotes
from gitmem.edges.remote import Access, PushProcess, PushRejected, PushResult
from gitmem.edges.remotes import Remote
from gitmem.edges.wire import Outcome
from gitmem.errors import ConfigError, NotFound, RemoteError, RepositoryRefused
from tests.edges.repos import INFLIGHT, MAIN, all_gone, commit, holds, new_repo, read_ref, set_ref

TRACKING = "refs/remotes/backup/main"


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return bare.create(tmp_path / "backup.git")


def named(url: str | Path, name: str = "backup") -> Remote:
    return Remote(name, remote_url.parse(str(url)))


def access(tmp_path: Path, **environ: str) -> Access:
    return Access(
        config_home=tmp_path, ask_helper=False, environ={"PATH": "/usr/bin:/bin", **_python_path(), **environ}
    )


def _python_path() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}


def push(git_dir: Path, to: Remote, *refs: str) -> PushResult:
    return remote.push(git_dir, to, refs or None, deadline=30, access=access(git_dir.parent))


def outcomes(result: PushResult) -> dict[str, Outcome]:
    return {ref.ref: ref.outcome for ref in result.refs}


def test_a_first_push_brings_branch_and_inflight_ref(git_dir: Path, target: Path) -> None:
    tip = commit(git_dir, {"SOUL.md": b"soul\n", "memory/MEMORY.md": b"- a\n"})
    turn = commit(git_dir, {"sessions/x.jsonl": b"{}\n"}, ref=INFLIGHT)
    result = push(git_dir, named(target))
    assert outcomes(result) == {MAIN: Outcome.PUSHED, INFLIGHT: Outcome.PUSHED}
    assert result.changed
    assert (read_ref(target, MAIN), read_ref(target, INFLIGHT)) == (tip, turn)
    assert read_ref(git_dir, TRACKING) == tip


def test_a_second_push_sends_only_what_is_new(git_dir: Path, target: Path) -> None:
    files = {f"memory/{n}.md": b"%d\n" % n for n in range(20)}
    commit(git_dir, files)
    push(git_dir, named(target))
    tip = commit(git_dir, {**files, "memory/3.md": b"new\n"})
    result = push(git_dir, named(target))
    assert result.objects == 4  # commit, root, folder, file
    assert read_ref(git_dir, TRACKING) == read_ref(target, MAIN) == tip


def test_nothing_new_is_no_error_and_sends_nothing(git_dir: Path, target: Path) -> None:
    commit(git_dir, {"a": b"1"})
    push(git_dir, named(target))
    result = push(git_dir, named(target))
    assert outcomes(result) == {MAIN: Outcome.SAME}
    assert (result.objects, result.changed) == (0, False)


def test_the_tracking_ref_is_found_again_when_it_was_lost(git_dir: Path, target: Path) -> None:
    tip = commit(git_dir, {"a": b"1"})
    push(git_dir, named(target))
    (git_dir / TRACKING).unlink()
    push(git_dir, named(target))
    assert read_ref(git_dir, TRACKING) == tip


def test_b28_commits_of_another_machine_are_never_overwritten(
    git_dir: Path, target: Path, tmp_path: Path
) -> None:
    base = commit(git_dir, {"f": b"base\n"})
    push(git_dir, named(target))
    other = new_repo(tmp_path / "other.git")
    assert commit(other, {"f": b"base\n"}) == base
    theirs = commit(other, {"f": b"base\nA\n"})
    push(other, named(target))
    ours = commit(git_dir, {"f": b"base\n", "onlyb": b"B\n"})
    for _ in range(2):
        with pytest.raises(PushRejected) as caught:
            push(git_dir, named(target))
        assert caught.value.state == "diverged"
        assert theirs[:10] in str(caught.value)
        assert ours[:10] in str(caught.value)
        assert "Nothing was overwritten" in str(caught.value)
        assert "gitmem git fetch" in (caught.value.hint or "")
        assert read_ref(target, MAIN) == theirs
        assert not holds(target, ours)
        assert read_ref(git_dir, TRACKING) == base


def test_a_diverged_branch_does_not_keep_the_inflight_ref_back(
    git_dir: Path, target: Path, tmp_path: Path
) -> None:
    other = new_repo(tmp_path / "other.git")
    commit(other, {"f": b"theirs\n"})
    push(other, named(target))
    commit(git_dir, {"f": b"ours\n"})
    turn = commit(git_dir, {"s": b"{}\n"}, ref=INFLIGHT)
    with pytest.raises(PushRejected) as caught:
        push(git_dir, named(target))
    assert outcomes(caught.value.result) == {MAIN: Outcome.DIVERGED, INFLIGHT: Outcome.PUSHED}
    assert read_ref(target, INFLIGHT) == turn


def test_b75_a_replaced_history_is_left_alone_on_both_sides(
    git_dir: Path, target: Path, tmp_path: Path
) -> None:
    for number in range(3):
        commit(git_dir, {"memory/MEMORY.md": b"fact\n" * number})
    push(git_dir, named(target))
    seen = read_ref(git_dir, TRACKING)
    ours = commit(git_dir, {"memory/MEMORY.md": b"fact 4, only local\n"})
    other = new_repo(tmp_path / "other.git")
    root = commit(other, {"memory/MEMORY.md": b"backfilled by the server\n"})
    (target / MAIN).unlink()
    push(other, named(target))
    for _ in range(2):
        with pytest.raises(RemoteError) as caught:
            push(git_dir, named(target))
        assert caught.value.state == "diverged"
    assert (read_ref(target, MAIN), read_ref(git_dir, MAIN)) == (root, ours)
    assert read_ref(git_dir, TRACKING) == seen


@pytest.mark.parametrize("there", ["set back", "removed"])
def test_a_branch_that_somebody_took_back_is_not_silently_filled_again(
    git_dir: Path, target: Path, there: str
) -> None:
    old = commit(git_dir, {"a": b"1"})
    push(git_dir, named(target))
    commit(git_dir, {"a": b"2 with a secret"})
    push(git_dir, named(target))
    commit(git_dir, {"a": b"3"})
    if there == "removed":
        (target / MAIN).unlink()
    else:
        set_ref(target, MAIN, old)
    with pytest.raises(PushRejected, match=there) as caught:
        push(git_dir, named(target))
    assert caught.value.state == "diverged"
    assert read_ref(target, MAIN) == (None if there == "removed" else old)


def test_removing_and_adding_the_remote_starts_afresh(git_dir: Path, target: Path) -> None:
    remotes.add(git_dir, "backup", str(target))
    tip = commit(git_dir, {"a": b"1"})
    push(git_dir, remotes.get(git_dir, "backup"))
    (target / MAIN).unlink()
    remotes.remove(git_dir, "backup")
    push(git_dir, remotes.add(git_dir, "backup", str(target)))
    assert read_ref(target, MAIN) == tip


def test_a_clock_that_went_backwards_does_not_look_like_divergence(git_dir: Path, target: Path) -> None:
    for time_ in (100, 50, 200, 10):
        commit(git_dir, {"a": b"%d" % time_}, when=time_)
        result = push(git_dir, named(target))
        assert outcomes(result) == {MAIN: Outcome.PUSHED}
        assert result.objects == 3


def test_a_merge_is_pushed_with_both_of_its_sides(git_dir: Path, target: Path) -> None:
    base = commit(git_dir, {"a": b"1"})
    push(git_dir, named(target))
    left = commit(git_dir, {"a": b"1", "l": b"l"}, parents=(base,), ref=None)
    right = commit(git_dir, {"a": b"1", "r": b"r"}, parents=(base,), ref=None)
    tip = commit(git_dir, {"a": b"1", "l": b"l", "r": b"r"}, parents=(left, right))
    push(git_dir, named(target))
    assert read_ref(target, MAIN) == tip
    assert holds(target, left)
    assert holds(target, right)


def test_a_named_ref_that_does_not_exist_is_not_found(git_dir: Path, target: Path) -> None:
    with pytest.raises(NotFound, match="nothing to push"):
        push(git_dir, named(target))
    commit(git_dir, {"a": b"1"})
    with pytest.raises(NotFound, match="refs/heads/other"):
        push(git_dir, named(target), "refs/heads/other")


def test_a_missing_repository_is_missing_and_says_how_to_make_one(git_dir: Path, tmp_path: Path) -> None:
    commit(git_dir, {"a": b"1"})
    with pytest.raises(RemoteError) as caught:
        push(git_dir, named(tmp_path / "nowhere.git"))
    assert caught.value.state == "missing"
    assert "--create" in (caught.value.hint or "")


@pytest.mark.parametrize("below", ["", ".git"])
def test_a_repository_with_files_checked_out_is_refused(git_dir: Path, tmp_path: Path, below: str) -> None:
    commit(git_dir, {"a": b"1"})
    new_repo(tmp_path / "work" / ".git")
    with pytest.raises(RemoteError, match="checked out") as caught:
        push(git_dir, named(tmp_path / "work" / below))
    assert caught.value.state == "refused"
    assert read_ref(tmp_path / "work" / ".git", MAIN) is None


def test_what_is_added_to_a_private_repository_is_private(git_dir: Path, target: Path) -> None:
    commit(git_dir, {"a": b"1"})
    push(git_dir, named(target))
    assert target.stat().st_mode & 0o077 == 0
    made = [path for path in target.rglob("*") if path.suffix != ".pack"]
    assert [str(path) for path in made if path.stat().st_mode & 0o077] == []


def test_damage_in_our_own_repository_is_not_blamed_on_the_remote(git_dir: Path, target: Path) -> None:
    commit(git_dir, {"a": b"1"})
    for path in (git_dir / "objects").glob("??/*"):
        if b"blob" not in path.name.encode() and path.stat().st_size < 30:
            path.unlink()
            break
    with pytest.raises(RepositoryRefused):
        push(git_dir, named(target))
    assert read_ref(target, MAIN) is None


def test_a_long_first_push_goes_in_steps(
    git_dir: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dulwich.client import LocalGitClient  # noqa: PLC0415
    from dulwich.object_store import DiskObjectStore  # noqa: PLC0415

    from gitmem.edges.outgoing import Outgoing  # noqa: PLC0415
    from gitmem.edges.pushing import Push  # noqa: PLC0415
    from gitmem.edges.wire import Offer  # noqa: PLC0415

    tips = [commit(git_dir, {"a": b"%d" % number * 1000}) for number in range(10)]
    connections = 0

    def connect() -> tuple[LocalGitClient, str]:
        nonlocal connections
        connections += 1
        return LocalGitClient(), str(target)

    with contextlib.closing(DiskObjectStore(str(git_dir / "objects"))) as store:
        work = Push(Outgoing(store), (Offer(MAIN, tips[-1]),), step=3000)
        work.run(connect)
    assert [result.outcome for result in work.results.values()] == [Outcome.PUSHED]
    assert connections == 4
    assert (read_ref(target, MAIN), work.objects) == (tips[-1], 30)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield listener.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "https", "git"])
def test_b34_a_server_that_never_answers_costs_no_more_than_the_deadline(
    git_dir: Path, tmp_path: Path, silent: int, scheme: str
) -> None:
    commit(git_dir, {"a": b"1"})
    url = f"{scheme}://127.0.0.1:{silent}/x.git"
    with PushProcess.start(git_dir, named(url), deadline=1, access=access(tmp_path)) as process:
        with pytest.raises(RemoteError) as caught:
            _wait(process)
        assert caught.value.state == "timeout"
        assert all_gone(process.pid)


def test_b34_an_ssh_program_that_waits_for_a_person_is_ended_with_its_children(
    git_dir: Path, tmp_path: Path
) -> None:
    commit(git_dir, {"a": b"1"})
    prompt = tmp_path / "ssh_prompt.sh"
    mark = tmp_path / "tty"
    prompt.write_text(
        f'#!/bin/sh\ntrap "" TERM\n(echo pass: > /dev/tty) 2>/dev/null && touch {mark}\n'
        "sleep 3600 & sleep 3600\n"
    )
    prompt.chmod(0o755)
    way = access(tmp_path, GIT_SSH_COMMAND=str(prompt))
    with PushProcess.start(git_dir, named("git@127.0.0.1:x.git"), deadline=1, access=way) as process:
        with pytest.raises(RemoteError) as caught:
            _wait(process)
        assert caught.value.state == "timeout"
        assert all_gone(process.pid)
    assert not mark.exists(), "it had a terminal"


def test_a_push_can_be_cancelled(git_dir: Path, tmp_path: Path, silent: int) -> None:
    commit(git_dir, {"a": b"1"})
    stop = threading.Event()
    stop.set()
    with pytest.raises(RemoteError, match="ended before"):
        remote.push(
            git_dir, named(f"git://127.0.0.1:{silent}/x"), deadline=60, access=access(tmp_path), cancel=stop
        )


def test_a_lock_left_at_a_path_is_named(git_dir: Path, target: Path) -> None:
    commit(git_dir, {"a": b"1"})
    lock = target / f"{MAIN}.lock"
    lock.touch()
    with pytest.raises(RemoteError, match=str(lock)) as caught:
        push(git_dir, named(target))
    assert caught.value.state == "refused"


def test_a_cancelled_push_to_a_path_leaves_nothing_there_that_disturbs(
    git_dir: Path, target: Path, tmp_path: Path
) -> None:
    for number in range(60):
        commit(git_dir, {f"{n}.bin": bytes([n, number]) * 20_000 for n in range(5)})
    for _ in range(4):
        with PushProcess.start(git_dir, named(target), deadline=60, access=access(tmp_path)) as process:
            while not list((target / "objects" / "pack").iterdir()) and process.poll() is None:
                pass
        names = {path.name for path in (target / "objects" / "pack").iterdir()}
        assert {name.replace(".idx", ".pack") for name in names if name.endswith(".idx")} <= names
        assert not list(target.rglob("*.lock"))


def test_a_tracking_ref_that_cannot_be_set_does_not_spoil_the_push(git_dir: Path, target: Path) -> None:
    tip = commit(git_dir, {"a": b"1"})
    (git_dir / "refs").mkdir(exist_ok=True)
    (git_dir / "refs" / "remotes").write_text("in the way")
    result = push(git_dir, named(target))
    assert read_ref(target, MAIN) == tip
    assert "refs/remotes/backup/main" in result.notes[0]


def test_poll_never_waits(git_dir: Path, tmp_path: Path, silent: int) -> None:
    commit(git_dir, {"a": b"1"})
    to = named(f"git://127.0.0.1:{silent}/x")
    with PushProcess.start(git_dir, to, deadline=60, access=access(tmp_path)) as process:
        assert process.poll() is None
        pid = process.pid
    assert all_gone(pid)


def test_a_port_where_nobody_listens_is_offline(git_dir: Path, tmp_path: Path, silent: int) -> None:
    commit(git_dir, {"a": b"1"})
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for scheme in ("http", "git"):
        with pytest.raises(RemoteError) as caught:
            remote.push(
                git_dir, named(f"{scheme}://127.0.0.1:{port}/x"), deadline=20, access=access(tmp_path)
            )
        assert caught.value.state == "offline"


def test_b98_nothing_the_repository_configures_is_run_or_followed(tmp_path: Path, target: Path) -> None:
    mark = tmp_path / "EXECUTED"
    program = f"touch {mark}"
    (tmp_path / "evil.inc").write_text(f"[core]\n\tsshCommand = {program}\n")
    config = (
        f"\tsshCommand = {program}; false\n\tgitProxy = {program}\n\tfsmonitor = {program}\n"
        f"\taskPass = {program}\n\thooksPath = {tmp_path}/hooks\n"
        f"[credential]\n\thelper = !{program}\n[gpg]\n\tprogram = {program}\n[commit]\n\tgpgsign = true\n"
        f'[remote "backup"]\n\turl = ext::sh -c "{program}"\n'
        f"\tuploadpack = {program}\n\treceivepack = {program}\n"
        f'[url "ext::sh -c x"]\n\tinsteadOf = {target}\n[protocol "ext"]\n\tallow = always\n'
        f"[include]\n\tpath = {tmp_path}/evil.inc\n"
        "[http]\n\tproxy = http://127.0.0.1:9\n\tsslVerify = false\n"
    )
    git_dir = new_repo(tmp_path / "evil.git", config)
    for folder in (tmp_path / "hooks", git_dir / "hooks"):
        folder.mkdir()
        for name in ("pre-push", "reference-transaction", "post-update"):
            (folder / name).write_text(f"#!/bin/sh\n{program}\n")
            (folder / name).chmod(0o755)
    tip = commit(git_dir, {"SOUL.md": b"x\n", ".gitattributes": b"* filter=x\n"})
    push(git_dir, named(target))
    for url in ("git@127.0.0.1:x", "git://127.0.0.1:9/x", "http://127.0.0.1:9/x", "https://127.0.0.1:9/x"):
        way = Access(
            config_home=tmp_path,
            environ={**_python_path(), "PATH": "/usr/bin:/bin", "GIT_SSH_COMMAND": "false"},
        )
        with pytest.raises(RemoteError):
            remote.push(git_dir, named(url), deadline=20, access=way)
    assert read_ref(target, MAIN) == tip
    assert not mark.exists()


def test_a_module_in_the_current_folder_is_not_imported(
    git_dir: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = tmp_path / "cwd"
    evil.mkdir()
    for name in ("json.py", "signal.py", "dulwich.py"):
        (evil / name).write_text(f"open({str(tmp_path / 'EXECUTED')!r}, 'w')\n")
    monkeypatch.chdir(evil)
    commit(git_dir, {"a": b"1"})
    push(git_dir, named(target))
    assert not (tmp_path / "EXECUTED").exists()


def test_a_certificate_file_that_does_not_exist_is_said_before_anything_starts(
    git_dir: Path, tmp_path: Path
) -> None:
    commit(git_dir, {"a": b"1"})
    with pytest.raises(ConfigError, match="certificates"):
        PushProcess.start(
            git_dir,
            named("https://127.0.0.1:9/x"),
            deadline=5,
            access=access(tmp_path, GIT_SSL_CAINFO="/no/such"),
        )


def _wait(process: PushProcess) -> PushResult:
    while (result := process.poll()) is None:
        time.sleep(0.02)
    return result
