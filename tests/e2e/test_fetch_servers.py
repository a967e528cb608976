"""Fetching from real git servers on loopback: what arrives, what is refused, and what is said then."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gitmem.core import remote_url
from gitmem.edges import remote
from gitmem.edges.incoming import Fetched, FetchProcess
from gitmem.edges.remote import Access
from gitmem.edges.remotes import Remote
from gitmem.edges.wire import Login
from gitmem.errors import RemoteError
from tests.e2e import servers
from tests.e2e.servers import Server
from tests.edges.repos import MAIN, all_gone, commit, holds, new_repo, read_ref, set_ref

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="the servers are git's own"),
]

TRACKING = "refs/remotes/hub/main"
LOGIN = Login(servers.USER, servers.PASSWORD)
KINDS = ["git", "ssh", "https", "http"]


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "other.git")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    """Starts a server of a kind; it ends with the test."""
    starters = {
        "git": servers.git_daemon,
        "ssh": servers.sshd,
        "https": servers.https,
        "http": servers.http,
    }
    with ExitStack() as stack:

        def start(kind: str) -> Server:
            if kind == "ssh" and servers.SSHD is None:
                pytest.skip("there is no sshd on this machine")
            if kind == "https" and shutil.which("openssl") is None:
                pytest.skip("there is no openssl on this machine to make certificates with")
            root = tmp_path / f"{kind}-server"
            root.mkdir()
            server = stack.enter_context(starters[kind](root))
            servers.bare(root)
            return server

        yield start


def access(
    tmp_path: Path, server: Server | None = None, login: Login | None = LOGIN, **environ: str
) -> Access:
    ours = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    ours["PYTHONPATH"] = ":".join(entry for entry in sys.path if entry)
    if server is not None:
        ours |= server.environ
    return Access(login=login, config_home=tmp_path, environ={**ours, **environ})


def named(url: str) -> Remote:
    return Remote("hub", remote_url.parse(url))


def push(git_dir: Path, server: Server, way: Access) -> None:
    remote.push(git_dir, named(server.url()), deadline=60, access=way)


def fetch(git_dir: Path, url: str, way: Access, *, deadline: float = 60) -> Fetched:
    """Fetch, and see that no process and nothing half is left whatever comes of it."""
    with FetchProcess.start(git_dir, named(url), MAIN, deadline=deadline, access=way) as process:
        try:
            return result(process)
        finally:
            assert all_gone(process.pid)
            assert not list((git_dir / "objects").glob("tmp_*"))
            assert read_ref(git_dir, MAIN) is None
            servers.git("fsck", "--full", "--strict", cwd=git_dir)


def result(process: FetchProcess) -> Fetched:
    while (found := process.poll()) is None:
        time.sleep(0.02)
    return found


def failure(git_dir: Path, url: str, way: Access, *, deadline: float = 60) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        fetch(git_dir, url, way, deadline=deadline)
    assert not list((git_dir / "objects" / "pack").iterdir())
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_first_and_later_fetches_bring_what_is_new(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    way = access(tmp_path, server)
    assert fetch(git_dir, server.url(), way) == Fetched(None, 0, MAIN), "nobody pushed yet"
    files = {f"memory/{n}.md": b"- fact %d\n" % n for n in range(30)}
    first = commit(other, files)
    push(other, server, way)
    assert fetch(git_dir, server.url(), way) == Fetched(first, 33, MAIN)
    set_ref(git_dir, TRACKING, first)
    tip = commit(other, {**files, "memory/7.md": b"- another fact\n"})
    push(other, server, way)
    assert fetch(git_dir, server.url(), way) == Fetched(tip, 4, MAIN)
    set_ref(git_dir, TRACKING, tip)
    assert fetch(git_dir, server.url(), way) == Fetched(tip, 0, MAIN)
    assert servers.git("show", f"{tip}:memory/7.md", cwd=git_dir) == "- another fact"


@pytest.mark.parametrize("kind", KINDS)
def test_both_have_gone_on_and_only_theirs_comes(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    way = access(tmp_path, server)
    files = {f"{n}.md": b"- fact %d\n" % n for n in range(20)}
    base = commit(other, files)
    push(other, server, way)
    fetch(git_dir, server.url(), way)
    ours = base
    for number in range(300):  # more than a server is told of without an answer
        ours = commit(git_dir, {"a": b"%d" % number}, parents=(ours,), ref="refs/heads/mine")
    set_ref(git_dir, TRACKING, base)
    tip = commit(other, {**files, "3.md": b"- theirs\n"})
    push(other, server, way)
    assert fetch(git_dir, server.url(), way) == Fetched(tip, 3, MAIN)


@pytest.mark.parametrize("kind", ["git", "ssh", "https"])
def test_several_megabytes_arrive_as_small_differences(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    way = access(tmp_path, server)
    lines = [os.urandom(300).hex().encode() + b"\n" for _ in range(4000)]
    first = commit(other, {"sessions/x.jsonl": b"".join(lines)})
    push(other, server, way)
    fetch(git_dir, server.url(), way)
    set_ref(git_dir, TRACKING, first)
    sizes = packed(git_dir)
    commit(other, {"sessions/x.jsonl": b"".join(lines) + b"one more\n"})
    push(other, server, way)
    servers.git("repack", "-adfq", cwd=server.root / "backup.git")
    found = fetch(git_dir, server.url(), way)
    assert found.objects == 4
    assert packed(git_dir) < 3 * sizes
    assert holds(git_dir, str(found.sha))


def packed(git_dir: Path) -> int:
    return sum(path.stat().st_size for path in (git_dir / "objects" / "pack").glob("*.pack"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_repository_is_missing(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    error = failure(git_dir, server.url("nowhere.git"), access(tmp_path, server))
    assert error.state == "missing"
    assert str(error).strip()


@pytest.mark.parametrize("kind", KINDS)
def test_a_port_where_nobody_listens_is_offline(git_dir: Path, tmp_path: Path, kind: str) -> None:
    url = f"{kind}://127.0.0.1:{servers.free_port()}/x.git"
    assert failure(git_dir, url, access(tmp_path)).state == "offline"


@pytest.mark.parametrize("kind", KINDS)
def test_b34_a_server_that_never_answers_is_given_up_in_time(
    git_dir: Path, tmp_path: Path, kind: str
) -> None:
    with servers.tarpit() as port:
        error = failure(git_dir, f"{kind}://127.0.0.1:{port}/x.git", access(tmp_path), deadline=3)
    assert error.state == "timeout"


def test_b34_a_dead_connection_is_noticed_before_the_deadline(git_dir: Path, tmp_path: Path) -> None:
    way = Access(patience=1, config_home=tmp_path, environ=access(tmp_path).environ, ask_helper=False)
    with servers.tarpit() as port:
        for kind in ("git", "http"):
            assert failure(git_dir, f"{kind}://127.0.0.1:{port}/x.git", way, deadline=50).state == "timeout"


@pytest.mark.parametrize("login", [None, Login(servers.USER, "wr0ng-pw"), Login("x", servers.PASSWORD)])
def test_a_wrong_or_missing_password_is_auth_and_shown_nowhere(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], login: Login | None
) -> None:
    server = serve("https")
    error = failure(git_dir, server.url(), access(tmp_path, server, login))
    assert error.state == "auth"
    assert "GITMEM_TOKEN" in (error.hint or "")
    for secret in ("wr0ng-pw", servers.PASSWORD):
        assert secret not in f"{error} {error.hint}"


def test_a_login_of_the_users_git_helper_is_used(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("https")
    tip = commit(other, {"f": b"x\n"})
    push(other, server, access(tmp_path, server))
    encoded = servers.PASSWORD.replace("/", "%2F").replace(":", "%3A").replace("@", "%40")
    host = server.base.removeprefix("https://")
    (tmp_path / "stored").write_text(f"https://{servers.USER}:{encoded}@{host}\n")
    (tmp_path / "gitconfig").write_text(f"[credential]\n\thelper = store --file={tmp_path}/stored\n")
    way = access(tmp_path, server, None, GIT_CONFIG_GLOBAL=str(tmp_path / "gitconfig"))
    assert fetch(git_dir, server.url(), way).sha == tip


def test_a_certificate_of_a_strange_authority_is_not_trusted(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("https")
    error = failure(git_dir, server.url(), access(tmp_path))
    assert error.state == "auth"
    assert "certificate" in str(error)
    assert not server.log, "nothing was asked, so no password was sent"


def test_an_unknown_key_and_an_unknown_host_are_auth(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("ssh")
    for key, known in (("stranger", "known"), ("client", "nothing-known")):
        way = access(tmp_path, GIT_SSH_COMMAND=servers.ssh_command(server.root, key, known))
        assert failure(git_dir, server.url(), way).state == "auth"


@pytest.mark.parametrize(
    ("status", "state"), [(403, "auth"), (404, "missing"), (429, "protocol"), (500, "protocol"), (503, "protocol")]
)  # fmt: skip
def test_http_statuses_become_states(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], status: int, state: str
) -> None:
    server = serve("http")
    assert failure(git_dir, server.url(f"{status}/x.git"), access(tmp_path, server)).state == state


def test_a_page_a_redirect_and_a_proxy_that_is_down_are_told(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("http")
    assert failure(git_dir, server.url("page/x.git"), access(tmp_path, server)).state == "protocol"
    assert failure(git_dir, server.url("moved/x.git"), access(tmp_path, server)).state == "refused"
    nowhere = f"http://u:t0ps3cret@127.0.0.1:{servers.free_port()}"
    error = failure(git_dir, server.url(), access(tmp_path, server, http_proxy=nowhere))
    assert error.state == "offline"
    assert "t0ps3cret" not in str(error)


@pytest.mark.parametrize("kind", ["git", "http"])
def test_b96_an_evil_tree_is_refused_by_its_path(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    there = server.root / "backup.git"
    link = hashed(there, "blob", b".git")
    inner = hashed(there, "tree", b"100644 config\0" + bytes.fromhex(hashed(there, "blob", b"[core]\n")))
    entries = b"120000 x\0" + bytes.fromhex(link) + b"40000 x\0" + bytes.fromhex(inner)
    tree = hashed(there, "tree", entries)
    who = "stranger <s@example.invalid> 1767600000 +0000"
    evil = hashed(there, "commit", f"tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n".encode())
    set_ref(there, MAIN, evil)
    for _ in range(2):
        error = failure(git_dir, server.url(), access(tmp_path, server))
        assert error.state == "protocol"
        assert "'x' twice" in str(error)
    assert not holds(git_dir, evil)


def hashed(repository: Path, kind: str, data: bytes) -> str:
    words = ("hash-object", "-w", "-t", kind, "--literally", "--stdin")
    return servers.git(*words, cwd=repository, stdin=data)


@contextmanager
def cutting(port: int, after: int) -> Iterator[int]:
    """A way to a server that breaks after so many bytes of its answer; yields its port."""
    with socket.create_server((servers.HOST, 0)) as listener:

        def carry() -> None:
            client, _ = listener.accept()
            with client, socket.create_connection((servers.HOST, port)) as server:
                threading.Thread(target=_copy, args=(client, server, 1 << 30), daemon=True).start()
                _copy(server, client, after)
                for end in (client, server):
                    end.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=carry)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def _copy(source: socket.socket, sink: socket.socket, room: int) -> None:
    while room > 0:
        try:
            data = source.recv(min(room, 65536))
            sink.sendall(data)
        except OSError:
            return
        if not data:
            return
        room -= len(data)


@pytest.mark.parametrize("after", [0, 3, 100, 600, 3000, 200_000])
def test_a_line_that_breaks_anywhere_leaves_nothing(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server], after: int
) -> None:
    server = serve("git")
    tip = commit(other, {f"{n}": os.urandom(5000) for n in range(100)})
    push(other, server, access(tmp_path))
    with cutting(int(server.base.rpartition(":")[2]), after) as port:
        error = failure(git_dir, f"git://{servers.HOST}:{port}/backup.git", access(tmp_path))
    assert error.state in ("offline", "protocol")
    assert fetch(git_dir, server.url(), access(tmp_path)).sha == tip


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_fetch_that_is_killed_is_done_again_without_harm(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server], ending: signal.Signals
) -> None:
    server = serve("git")
    tip = commit(other, {f"{n}": b"%d" % n * 5000 for n in range(400)})
    push(other, server, access(tmp_path))
    for pause in (0.2, 0.3, 0.4, 0.5, 0.6):
        with FetchProcess.start(
            git_dir, named(server.url()), MAIN, deadline=60, access=access(tmp_path)
        ) as process:
            time.sleep(pause)
            os.killpg(process.pid, ending)
        assert all_gone(process.pid)
        servers.git("fsck", "--full", "--strict", cwd=git_dir)
    assert fetch(git_dir, server.url(), access(tmp_path)).sha == tip


def test_b34_a_process_that_is_stopped_is_ended_at_its_deadline(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("git")
    commit(other, {"f": b"x\n"})
    push(other, server, access(tmp_path))
    to = named(server.url())
    with FetchProcess.start(git_dir, to, MAIN, deadline=1, access=access(tmp_path)) as process:
        os.killpg(process.pid, signal.SIGSTOP)
        with pytest.raises(RemoteError) as caught:
            result(process)
    assert caught.value.state == "timeout"
    assert all_gone(process.pid)


def test_a_plain_git_sees_what_came(
    git_dir: Path, other: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("git")
    tip = commit(other, {"f": b"x\n"})
    push(other, server, access(tmp_path))
    fetch(git_dir, server.url(), access(tmp_path))
    log = subprocess.run(
        ["git", "log", "--format=%H", tip], cwd=git_dir, env=servers.git_environment(tmp_path),
        capture_output=True, check=True,
    )  # fmt: skip
    assert log.stdout.decode().split() == [tip]
