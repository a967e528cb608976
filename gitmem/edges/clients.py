"""dulwich's clients, made so that nothing but our own arguments decides what they do.

Each is built by hand without a `config`: dulwich would otherwise take an ssh command, a proxy program, a
rewritten address or a certificate file from the repository's configuration, which an agent may have written
(B98). Proxies and certificates come from the user's environment.
"""

import os
import socket
from pathlib import Path

from dulwich.client import GitClient, SSHGitClient, SubprocessSSHVendor, TCPGitClient

from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges import bare
from gitmem.edges.pathclient import PathClient
from gitmem.edges.wire import Login, Request


def connect(request: Request, url: RemoteUrl, login: Login | None) -> tuple[GitClient, str]:
    """A client for an address, and the path to hand to its methods.

    Nothing is sent yet, but a path is looked at.

    Raises:
        RemoteError: A path where there is nothing to push to.
    """
    match url.scheme:
        case Scheme.PATH:
            return _local(Path(url.path)), url.path
        case Scheme.SSH:
            return _ssh(request, url), url.path
        case Scheme.GIT:
            # Neither dulwich nor git:// has time limits of its own.
            socket.setdefaulttimeout(request.patience)
            return TCPGitClient(url.host, url.port), url.path
        case Scheme.HTTP | Scheme.HTTPS:
            from gitmem.edges import web  # noqa: PLC0415  (costs 60 ms, and only http needs it)

            return web.client(request, url, login), ""


def _local(path: Path) -> PathClient:
    """No server runs here, so no hook of the target does either (merge.md, section 1)."""
    bare.check(path)
    # What we add shall be as private as the repository already is.
    os.umask(0o777 & ~(path / "objects").stat().st_mode)
    return PathClient()


def _ssh(request: Request, url: RemoteUrl) -> SSHGitClient:
    return SSHGitClient(
        url.host, url.port, url.user, vendor=SubprocessSSHVendor(), ssh_command=request.ssh_command
    )
