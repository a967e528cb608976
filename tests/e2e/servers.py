"""Real git servers on loopback, each for the length of a `with` block; nothing of them survives it."""

import base64
import getpass
import gzip
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOST = "127.0.0.1"
USER, PASSWORD = "keeper", "s3cret/with:odd@signs"
SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if Path("/usr/sbin/sshd").exists() else None)


@dataclass
class Server:
    """A server that is up.

    Attributes:
        base: Address of the folder with repositories, without a final slash.
        root: That folder.
        environ: What a client needs in its environment to get in.
        log: What the server noted.
    """

    base: str
    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def url(self, name: str = "backup.git") -> str:
        """Address of a repository."""
        return f"{self.base}/{name}"


def git(*words: str, cwd: Path, stdin: bytes | None = None) -> str:
    """Run git without the user's settings; its output."""
    done = subprocess.run(
        ["git", *words], cwd=cwd, env=git_environment(cwd), input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def git_environment(home: Path) -> dict[str, str]:
    """An environment in which git reads nobody's settings and trusts our folders."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }


def bare(root: Path, name: str = "backup.git") -> Path:
    """A bare repository below `root` that may be pushed to by http."""
    path = root / name
    git("-c", "init.defaultBranch=main", "init", "-q", "--bare", str(path), cwd=root)
    git("config", "http.receivepack", "true", cwd=path)
    return path


def refuse(repository: Path, times: int) -> None:
    """Let the server refuse so many pushes, with a reason."""
    hook = repository / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f'#!/bin/sh\nn=$(cat refusals 2>/dev/null || echo {times})\n[ "$n" -gt 0 ] || exit 0\n'
        'echo $((n-1)) > refusals\necho "come back later, token=abc" >&2\nexit 1\n'
    )
    hook.chmod(0o755)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def tarpit() -> Iterator[int]:
    """Accepts connections and never answers; yields its port."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen(8)
        yield listener.getsockname()[1]


@contextmanager
def git_daemon(root: Path) -> Iterator[Server]:
    """git:// with pushing allowed."""
    port = free_port()
    program = Path(git("--exec-path", cwd=root)) / "git-daemon"
    words = [str(program), f"--base-path={root}", "--export-all", "--enable=receive-pack", "--reuseaddr"]
    with _running([*words, f"--listen={HOST}", f"--port={port}"], git_environment(root), port):
        yield Server(f"git://{HOST}:{port}", root)


@contextmanager
def sshd(root: Path) -> Iterator[Server]:
    """Sshd with throw-away keys; the client's environment names its key in GIT_SSH_COMMAND."""
    keys = root / "ssh"
    keys.mkdir(mode=0o700)
    for name in ("host", "client", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    shutil.copy(keys / "client.pub", keys / "authorized")
    port = free_port()
    (keys / "known").write_text(f"[{HOST}]:{port} " + (keys / "host.pub").read_text())
    (keys / "config").write_text(
        f"Port {port}\nListenAddress {HOST}\nHostKey {keys / 'host'}\n"
        f"AuthorizedKeysFile {keys / 'authorized'}\nStrictModes no\nUsePAM no\nPidFile none\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with _running([str(SSHD), "-D", "-e", "-f", str(keys / "config")], git_environment(root), port):
        server = Server(f"ssh://{getpass.getuser()}@{HOST}:{port}{root}", root)
        server.environ["GIT_SSH_COMMAND"] = ssh_command(root, "client")
        yield server


def ssh_command(root: Path, key: str, known: str = "known") -> str:
    """The client's ssh with one of the keys that `sshd` made."""
    keys = root / "ssh"
    return (
        f"ssh -F none -i {keys / key} -o IdentitiesOnly=yes -o UserKnownHostsFile={keys / known} "
        "-o StrictHostKeyChecking=yes"
    )


@contextmanager
def _running(words: list[str], environ: Mapping[str, str], port: int) -> Iterator[None]:
    process = subprocess.Popen(
        words, env=dict(environ), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        _await_port(process, port)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    limit = time.monotonic() + 10
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        assert process.poll() is None, "the server ended at once"
        assert time.monotonic() < limit, "the server does not come up"
        time.sleep(0.02)


@contextmanager
def https(root: Path, *, login: bool = True) -> Iterator[Server]:
    """An http-backend behind https with basic authentication; an authority of ours signed its certificate."""
    authority, certificate, key = _certificates(root / "tls")
    with _web(root, login=login, context=_context(certificate, key)) as server:
        server.environ["GIT_SSL_CAINFO"] = str(authority)
        yield server


@contextmanager
def http(root: Path, *, login: bool = True) -> Iterator[Server]:
    """The same without encryption."""
    with _web(root, login=login, context=None) as server:
        yield server


@contextmanager
def _web(root: Path, *, login: bool, context: ssl.SSLContext | None) -> Iterator[Server]:
    httpd = _Backend((HOST, 0), _Handler)
    httpd.root, httpd.login = root, login
    if context is not None:
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    scheme = "http" if context is None else "https"
    server = Server(f"{scheme}://{HOST}:{httpd.server_address[1]}", root, log=httpd.log)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, and a server certificate for loopback that it signed."""
    folder.mkdir()
    (folder / "names").write_text(f"subjectAltName=IP:{HOST}\n")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        "req",
        "-x509",
        *new_key,
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-days",
        "2",
        "-subj",
        "/CN=test authority",
    )
    openssl("req", *new_key, "-keyout", "server.key", "-out", "server.csr", "-subj", f"/CN={HOST}")
    signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", *signing)
    return folder / "ca.pem", folder / "server.pem", folder / "server.key"


class _Backend(ThreadingHTTPServer):
    daemon_threads = True
    root: Path
    login: bool

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.log: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    """Basic authentication, then CGI; a path that starts with a number answers with that status."""

    server: _Backend
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._body())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        self.server.log.append(format % args)

    def _serve(self, body: bytes) -> None:
        first = self.path.split("/")[1]
        if first.isdigit():
            self._answer(int(first), {"Content-Type": "text/plain"}, b"as you wish\n")
        elif first == "moved":
            self._answer(302, {"Location": "http://127.0.0.2:9" + self.path}, b"")
        elif first == "page":
            self._answer(
                200, {"Content-Type": "text/html"}, b"<html>please log in to the hotel network</html>"
            )
        elif self.server.login and self.headers.get("Authorization") != _basic():
            self._answer(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"who are you?\n")
        else:
            self._backend(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

    def _backend(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environ = git_environment(self.server.root) | {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_USER": USER,
            "REMOTE_ADDR": HOST,
        }
        done = subprocess.run(
            ["git", "http-backend"], env=environ, input=body, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        self._answer(status, headers, content)

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _basic() -> str:
    return "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
