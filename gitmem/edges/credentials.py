"""User names and passwords for http remotes: from the environment, a private file, or the user's git helpers.

dulwich uses none of them by itself (merge.md, section 1, credential helpers). What is found goes to the
process that pushes on its standard input, and nowhere else.
"""

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges import surroundings
from gitmem.edges.wire import Login
from gitmem.errors import ConfigError

FILE = "credentials"
_ANY_USER = "x-access-token"
"""Servers that take a token as the password ignore the user name, as long as there is one."""
_PORTS = {Scheme.HTTP: 80, Scheme.HTTPS: 443}
_HELPER_SECONDS = 5.0
_LONGEST = 1024 * 1024
"""Bytes of the file that are read."""


def find(url: RemoteUrl, ours: Mapping[str, str], config_home: Path) -> Login | None:
    """The login that is at hand without asking another program.

    Args:
        url: The remote; only http wants a login.
        ours: Our environment: GITMEM_USERNAME and GITMEM_PASSWORD, or GITMEM_TOKEN.
        config_home: Folder of the user's settings; its file `credentials` holds lines as
            git-credential-store writes them, `https://user:password@host`, percent-encoded.

    Raises:
        ConfigError: The file is readable by others.
    """
    if not url.web:
        return None
    return _from_environment(url, ours) or _from_file(url, config_home / FILE)


def _from_environment(url: RemoteUrl, ours: Mapping[str, str]) -> Login | None:
    password = ours.get("GITMEM_PASSWORD") or ours.get("GITMEM_TOKEN")
    if not password:
        return None
    return Login(ours.get("GITMEM_USERNAME") or url.user or _ANY_USER, password)


def _from_file(url: RemoteUrl, path: Path) -> Login | None:
    for line in _private_lines(path):
        login = _match(url, line.strip())
        if login is not None:
            return login
    return None


def _private_lines(path: Path) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    try:
        _check_private(path, os.fstat(descriptor))
        return os.read(descriptor, _LONGEST).decode("utf-8", "surrogateescape").splitlines()
    finally:
        os.close(descriptor)


def _check_private(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise ConfigError(f"{path} is not a file")
    if facts.st_mode & 0o077 or facts.st_uid not in (os.geteuid(), 0):
        raise ConfigError(
            f"{path} holds passwords but others can read it, or it belongs to somebody else",
            f"Run: chmod 600 {path}",
        )


def _match(url: RemoteUrl, line: str) -> Login | None:
    try:
        there = urlsplit(line)
        port = there.port
    except ValueError:
        return None
    if there.scheme != url.scheme or (there.hostname or "") != url.host.lower():
        return None
    default = _PORTS[url.scheme]
    if (port or default) != (url.port or default) or not _below(url.path, there.path):
        return None
    user = unquote(there.username or "")
    if not there.password or (url.user is not None and user != url.user):
        return None
    return Login(user or _ANY_USER, unquote(there.password))


def _below(path: str, folder: str) -> bool:
    prefix = folder.rstrip("/")
    return path.rstrip("/") == prefix or path.startswith(prefix + "/")


def ask_helper(url: RemoteUrl, ours: Mapping[str, str], seconds: float = _HELPER_SECONDS) -> Login | None:
    """Ask the user's git credential helpers; None when there is no git, no helper, or no answer in time.

    git runs far from any repository, so that only the user's own and the system's settings name helpers
    (B98). It may not ask a person.

    Args:
        url: The remote.
        ours: Our environment.
        seconds: How long it may take; then it and all it started are killed.
    """
    git = shutil.which("git")
    if git is None or not url.web:
        return None
    environment = surroundings.environment(ours) | {"GIT_DIR": os.devnull, "GIT_CEILING_DIRECTORIES": "/"}
    with subprocess.Popen(
        [git, "credential", "fill"],
        cwd="/",
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    ) as process:
        try:
            answer, _ = process.communicate(_question(url), seconds)
        except subprocess.TimeoutExpired:
            answer = b""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return _answer(answer) if process.returncode == 0 else None


def _question(url: RemoteUrl) -> bytes:
    fields = {"protocol": url.scheme.value, "host": url.netloc, "path": unquote(url.path).strip("/")}
    if url.user is not None:
        fields["username"] = url.user
    return "".join(f"{name}={value}\n" for name, value in fields.items()).encode() + b"\n"


def _answer(data: bytes) -> Login | None:
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    password = fields.get("password")
    return Login(fields.get("username") or _ANY_USER, password) if password else None
