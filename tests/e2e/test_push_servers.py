"""Pushing to real git servers on loopback: what arrives, what is refused, and what is said then."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gitmem.core import remote_url
from gitmem.core.backoff import Backoff
from gitmem.edges.remote import Access, PushProcess, PushRejected, PushResult
from gitmem.edges.remotes import Remote
from gitmem.edges.wire import Login, Outcome
from gitmem.errors import RemoteError
from tests.e2e import servers
from tests.e2e.servers import Server
from tests.edges.repos import INFLIGHT, MAIN, all_gone, commit, new_repo, read_ref

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="the servers are git's own"),
]

TRACKING = "refs/remotes/backup/main"
LOGIN = Login(servers.USER, servers.PASSWORD)
KINDS = ["git", "ssh", "https", "http"]


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


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


def push(
    git_dir: Path, url: str, way: Access, refs: list[str] | None = None, *, deadline: float = 60
) -> PushResult:
    """Push, and see that no process is left whatever comes of it."""
    to = Remote("backup", remote_url.parse(url))
    with PushProcess.start(git_dir, to, refs, deadline=deadline, access=way) as process:
        try:
            while (result := process.poll()) is None:
                time.sleep(0.02)
            return result
        finally:
            assert all_gone(process.pid)


def failure(git_dir: Path, url: str, way: Access, *, deadline: float = 60) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        push(git_dir, url, way, deadline=deadline)
    return caught.value


def fsck(repository: Path) -> None:
    servers.git("fsck", "--full", "--strict", cwd=repository)


@pytest.mark.parametrize("kind", KINDS)
def test_first_and_later_pushes_arrive_whole(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    way = access(tmp_path, server)
    files = {f"memory/{n}.md": b"- fact %d\n" % n for n in range(30)}
    first = commit(git_dir, files)
    turn = commit(git_dir, {"sessions/x.jsonl": b"{}\n"}, ref=INFLIGHT)
    assert push(git_dir, server.url(), way).changed
    assert read_ref(git_dir, TRACKING) == first
    tip = commit(git_dir, {**files, "memory/7.md": b"- another fact\n"})
    result = push(git_dir, server.url(), way)
    assert result.objects == 4
    assert {ref.ref: ref.outcome for ref in result.refs} == {MAIN: Outcome.PUSHED, INFLIGHT: Outcome.SAME}
    there = server.root / "backup.git"
    assert (read_ref(there, MAIN), read_ref(there, INFLIGHT)) == (tip, turn)
    assert read_ref(git_dir, TRACKING) == tip
    assert not push(git_dir, server.url(), way).changed
    fsck(there)
    assert servers.git("show", f"{tip}:memory/7.md", cwd=there) == "- another fact"


@pytest.mark.parametrize("kind", ["git", "ssh", "https"])
def test_several_megabytes_arrive(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    noise = bytes(range(256)) * 4096
    for number in range(6):
        tip = commit(git_dir, {f"{n}.bin": bytes([n]) * 100 + noise[n:] for n in range(number + 1)})
    push(git_dir, server.url(), access(tmp_path, server))
    assert read_ref(server.root / "backup.git", MAIN) == tip
    fsck(server.root / "backup.git")


@pytest.mark.parametrize("kind", KINDS)
def test_b28_the_other_machines_commits_stay(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    way = access(tmp_path, server)
    base = commit(git_dir, {"f": b"base\n"})
    push(git_dir, server.url(), way)
    other = new_repo(tmp_path / "other.git")
    commit(other, {"f": b"base\n"})
    theirs = commit(other, {"f": b"base\nA\n"})
    push(other, server.url(), way)
    ours = commit(git_dir, {"f": b"base\n", "onlyb": b"B\n"})
    error = failure(git_dir, server.url(), way)
    assert error.state == "diverged"
    assert theirs[:10] in str(error)
    assert ours[:10] in str(error)
    assert read_ref(server.root / "backup.git", MAIN) == theirs
    assert read_ref(git_dir, TRACKING) == base


@pytest.mark.parametrize("kind", KINDS)
def test_b59_a_refused_push_is_told_with_the_servers_reason_and_works_later(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    there = server.root / "backup.git"
    servers.refuse(there, times=2)
    way = access(tmp_path, server)
    tip = commit(git_dir, {"f": b"x\n"})
    backoff, now = Backoff(), 0.0
    for _ in range(2):
        error = failure(git_dir, server.url(), way)
        assert isinstance(error, PushRejected)
        assert error.state == "refused"
        assert "pre-receive hook declined" in str(error)
        assert "come back later" in str(error)
        assert read_ref(git_dir, TRACKING) is None
        assert read_ref(there, MAIN) is None
        backoff = backoff.failed(error.state, now, 1.0)
        assert backoff.due is not None
        now = backoff.due
    assert now < 60, "both refusals are over within the minute"
    push(git_dir, server.url(), way)
    assert read_ref(there, MAIN) == read_ref(git_dir, TRACKING) == tip


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_repository_is_missing(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], kind: str
) -> None:
    server = serve(kind)
    commit(git_dir, {"f": b"x\n"})
    error = failure(git_dir, server.url("nowhere.git"), access(tmp_path, server))
    assert error.state == "missing"
    assert str(error).strip()


@pytest.mark.parametrize("kind", KINDS)
def test_a_port_where_nobody_listens_is_offline(git_dir: Path, tmp_path: Path, kind: str) -> None:
    commit(git_dir, {"f": b"x\n"})
    url = f"{kind}://127.0.0.1:{servers.free_port()}/x.git"
    assert failure(git_dir, url, access(tmp_path)).state == "offline"


@pytest.mark.parametrize("kind", ["https", "http"])
def test_a_host_that_has_no_address_is_offline(git_dir: Path, tmp_path: Path, kind: str) -> None:
    commit(git_dir, {"f": b"x\n"})
    assert failure(git_dir, f"{kind}://nowhere.invalid/x.git", access(tmp_path)).state == "offline"


@pytest.mark.parametrize("kind", KINDS)
def test_b34_a_server_that_never_answers_is_given_up_in_time(
    git_dir: Path, tmp_path: Path, kind: str
) -> None:
    commit(git_dir, {"f": b"x\n"})
    with servers.tarpit() as port:
        error = failure(git_dir, f"{kind}://127.0.0.1:{port}/x.git", access(tmp_path), deadline=3)
    assert error.state == "timeout"


def test_b34_a_dead_connection_is_noticed_before_the_deadline(git_dir: Path, tmp_path: Path) -> None:
    commit(git_dir, {"f": b"x\n"})
    way = Access(patience=1, config_home=tmp_path, environ=access(tmp_path).environ, ask_helper=False)
    with servers.tarpit() as port:
        for kind in ("git", "http"):
            assert failure(git_dir, f"{kind}://127.0.0.1:{port}/x.git", way, deadline=50).state == "timeout"


_ORPHAN = """
import sys
from pathlib import Path
from gitmem.core import remote_url
from gitmem.edges.remote import Access, PushProcess
from gitmem.edges.remotes import Remote
to = Remote("backup", remote_url.parse(sys.argv[2]))
process = PushProcess.start(Path(sys.argv[1]), to, deadline=1, access=Access(config_home=Path(sys.argv[1])))
print(process.pid, flush=True)
sys.stdin.read()
"""


def test_b34_a_push_whose_parent_was_killed_ends_at_its_deadline(git_dir: Path, tmp_path: Path) -> None:
    commit(git_dir, {"f": b"x\n"})
    with servers.tarpit() as port:
        words = [sys.executable, "-c", _ORPHAN, str(git_dir), f"ssh://127.0.0.1:{port}/x.git"]
        pipe, environ = subprocess.PIPE, dict(access(tmp_path).environ)
        with subprocess.Popen(words, env=environ, stdin=pipe, stdout=pipe) as parent:
            assert parent.stdout is not None
            group = int(parent.stdout.readline())
            os.kill(parent.pid, signal.SIGKILL)
        assert all_gone(group)


@pytest.mark.parametrize("login", [None, Login(servers.USER, "wr0ng-pw"), Login("x", servers.PASSWORD)])
def test_a_wrong_or_missing_password_is_auth_and_shown_nowhere(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], login: Login | None
) -> None:
    server = serve("https")
    commit(git_dir, {"f": b"x\n"})
    error = failure(git_dir, server.url(), access(tmp_path, server, login))
    assert error.state == "auth"
    assert "GITMEM_TOKEN" in (error.hint or "")
    for secret in ("wr0ng-pw", servers.PASSWORD):
        assert secret not in f"{error} {error.hint}"


def test_logins_come_from_environment_file_and_git_helper(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("https")
    commit(git_dir, {"f": b"x\n"})
    secrets = {"GITMEM_USERNAME": servers.USER, "GITMEM_PASSWORD": servers.PASSWORD}
    push(git_dir, server.url(), access(tmp_path, server, None, **secrets))
    encoded = servers.PASSWORD.replace("/", "%2F").replace(":", "%3A").replace("@", "%40")
    line = f"https://{servers.USER}:{encoded}@{server.base.removeprefix('https://')}\n"
    (tmp_path / "credentials").write_text(line)
    (tmp_path / "credentials").chmod(0o600)
    push(git_dir, server.url(), access(tmp_path, server, None))
    (tmp_path / "credentials").rename(tmp_path / "stored")
    (tmp_path / "gitconfig").write_text(f"[credential]\n\thelper = store --file={tmp_path}/stored\n")
    settings = str(tmp_path / "gitconfig")
    push(git_dir, server.url(), access(tmp_path, server, None, GIT_CONFIG_GLOBAL=settings))


def test_a_password_leaves_no_trace_on_disk_or_in_the_process_list(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("https")
    commit(git_dir, {"f": b"x\n"})
    way = access(tmp_path, server, None, GITMEM_USERNAME=servers.USER, GITMEM_PASSWORD=servers.PASSWORD)
    to = Remote("backup", remote_url.parse(server.url()))
    with PushProcess.start(git_dir, to, deadline=60, access=way) as process:
        own = Path(f"/proc/{process.pid}")
        seen = (own / "cmdline").read_bytes() + (own / "environ").read_bytes()
        while process.poll() is None:
            time.sleep(0.02)
    assert servers.PASSWORD.encode() not in seen
    files = [path for path in git_dir.rglob("*") if path.is_file()]
    assert [path for path in files if servers.PASSWORD.encode() in path.read_bytes()] == []
    assert b"push: to backup" in (git_dir / "logs" / TRACKING).read_bytes()


def test_a_certificate_of_a_strange_authority_is_not_trusted(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("https")
    commit(git_dir, {"f": b"x\n"})
    error = failure(git_dir, server.url(), access(tmp_path))
    assert error.state == "auth"
    assert "certificate" in str(error)
    assert "GIT_SSL_CAINFO" in (error.hint or "")
    assert not server.log, "nothing was asked, so no password was sent"
    way = access(tmp_path, None, LOGIN, SSL_CERT_FILE=server.environ["GIT_SSL_CAINFO"])
    assert push(git_dir, server.url(), way).changed


def test_an_unknown_key_and_an_unknown_host_are_auth(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("ssh")
    commit(git_dir, {"f": b"x\n"})
    for key, known in (("stranger", "known"), ("client", "nothing-known")):
        way = access(tmp_path, GIT_SSH_COMMAND=servers.ssh_command(server.root, key, known))
        error = failure(git_dir, server.url(), way)
        assert error.state == "auth"
        assert "ssh -o BatchMode=yes" in (error.hint or "")


@pytest.mark.parametrize(
    ("status", "state"),
    [(403, "auth"), (404, "missing"), (410, "missing"), (413, "refused"), (429, "protocol"),
     (500, "protocol"), (502, "protocol"), (503, "protocol")],
)  # fmt: skip
def test_http_statuses_become_states(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server], status: int, state: str
) -> None:
    server = serve("http")
    commit(git_dir, {"f": b"x\n"})
    assert failure(git_dir, server.url(f"{status}/x.git"), access(tmp_path, server)).state == state


def test_a_web_page_in_place_of_a_server_is_protocol(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("http")
    commit(git_dir, {"f": b"x\n"})
    assert failure(git_dir, server.url("page/x.git"), access(tmp_path, server)).state == "protocol"


def test_a_redirect_to_another_host_is_not_followed(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("http")
    commit(git_dir, {"f": b"x\n"})
    error = failure(git_dir, server.url("moved/x.git"), access(tmp_path, server))
    assert error.state == "refused"
    assert "127.0.0.2" in str(error)


def test_the_users_proxy_is_used_and_can_be_switched_off(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("http")
    commit(git_dir, {"f": b"x\n"})
    nowhere = f"http://u:t0ps3cret@127.0.0.1:{servers.free_port()}"
    error = failure(git_dir, server.url(), access(tmp_path, server, http_proxy=nowhere))
    assert error.state == "offline"
    assert "t0ps3cret" not in str(error)
    assert not server.log
    direct = access(tmp_path, server, http_proxy=nowhere, no_proxy="127.0.0.1")
    assert push(git_dir, server.url(), direct).changed


def test_a_server_that_takes_fetches_only_refuses(git_dir: Path, tmp_path: Path) -> None:
    root = tmp_path / "server"
    root.mkdir()
    commit(git_dir, {"f": b"x\n"})
    with servers.http(root) as server:
        there = servers.bare(root)
        servers.git("config", "http.receivepack", "false", cwd=there)
        assert failure(git_dir, server.url(), access(tmp_path, server)).state in ("auth", "refused")


def test_of_racing_first_pushes_one_wins_and_nothing_is_lost(
    tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("git")
    racers = []
    with ExitStack() as stack:
        for number in range(4):
            ours = new_repo(tmp_path / f"racer{number}.git")
            tip = commit(ours, {"f": b"%d\n" % number})
            to = Remote("backup", remote_url.parse(server.url()))
            process = PushProcess.start(ours, to, deadline=60, access=access(tmp_path))
            racers.append((ours, tip, stack.enter_context(process)))
        won = [tip for ours, tip, process in racers if _wins(ours, tip, process)]
    assert len(won) == 1
    assert read_ref(server.root / "backup.git", MAIN) == won[0]
    fsck(server.root / "backup.git")


def _wins(git_dir: Path, tip: str, process: PushProcess) -> bool:
    try:
        while process.poll() is None:
            time.sleep(0.02)
    except PushRejected as error:
        assert error.state == "diverged"  # noqa: PT017  (either end is right)
        assert read_ref(git_dir, TRACKING) is None
        return False
    assert read_ref(git_dir, TRACKING) == tip
    return True


def test_a_push_that_is_cut_off_is_done_again_without_harm(
    git_dir: Path, tmp_path: Path, serve: Callable[[str], Server]
) -> None:
    server = serve("ssh")
    way = access(tmp_path, server)
    tip = commit(git_dir, {f"{n}": b"%d" % n * 5000 for n in range(200)})
    to = Remote("backup", remote_url.parse(server.url()))
    for pause in (0.1, 0.25, 0.4):
        with PushProcess.start(git_dir, to, deadline=60, access=way) as process:
            time.sleep(pause)
        assert all_gone(process.pid)
    assert push(git_dir, server.url(), way).refs[0].outcome.arrived
    assert read_ref(server.root / "backup.git", MAIN) == tip
    fsck(server.root / "backup.git")
