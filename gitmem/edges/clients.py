"""dulwich's clients, made so that nothing but our own arguments decides what they do.

Each is built by hand without a `config`: dulwich would otherwise take an ssh command, a proxy program, a
rewritten address or a certificate file from the repository's configuration, which an agent may have written
(B98). Proxies and certificates come from the user's environment.
"""

import os
import socket
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3
from dulwich.client import (
    GitClient,
    HttpGitClient,
    LocalGitClient,
    SSHGitClient,
    SubprocessSSHVendor,
    TCPGitClient,
    default_user_agent_string,
)
from urllib3.util import Retry, Timeout, make_headers

from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges import bare
from gitmem.edges.wire import Login, Request
from gitmem.errors import RemoteError

_CONNECT = 10.0
"""Seconds to wait for a connection."""


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
            return _http(request, url, login), ""


def _local(path: Path) -> LocalGitClient:
    """No server runs here, so no hook of the target does either (merge.md, section 1)."""
    bare.check(path)
    # What we add shall be as private as the repository already is.
    os.umask(0o777 & ~(path / "objects").stat().st_mode)
    return LocalGitClient()


def _ssh(request: Request, url: RemoteUrl) -> SSHGitClient:
    return SSHGitClient(
        url.host, url.port, url.user, vendor=SubprocessSSHVendor(), ssh_command=request.ssh_command
    )


def _http(request: Request, url: RemoteUrl, login: Login | None) -> HttpGitClient:
    return HttpGitClient(
        f"{url.scheme}://{url.netloc}{url.path}",
        pool_manager=_pool(request, url),
        username=login.username if login else None,
        password=login.password if login else None,
    )


class _WithinHost(urllib3.PoolManager):
    """Follows redirects within the host only: a backup must not go where nobody sent it."""

    home: RemoteUrl

    def urlopen(self, method: str, url: str, *args: Any, **kw: Any) -> urllib3.BaseHTTPResponse:
        """See `urllib3.PoolManager.urlopen`; redirects come through here one by one."""
        there = urlsplit(url)
        if there.hostname != self.home.host or (self.home.scheme is Scheme.HTTPS and there.scheme != "https"):
            raise RemoteError(
                "refused",
                f"{self.home.host} redirects to {there.scheme}://{there.hostname}, which is another place",
                "If that is right, add a remote with the address it redirects to.",
            )
        return super().urlopen(method, url, *args, **kw)


class _WithinHostByProxy(_WithinHost, urllib3.ProxyManager):
    """The same through a proxy."""


def _pool(request: Request, url: RemoteUrl) -> urllib3.PoolManager:
    options: dict[str, Any] = {
        "headers": {"User-agent": default_user_agent_string()},
        "cert_reqs": "CERT_REQUIRED",
        "ca_certs": request.ca_file,
        "timeout": Timeout(connect=min(_CONNECT, request.patience), read=request.patience),
        # One try: the pause between tries is ours (urllib3 would wait four times as long).
        "retries": Retry(total=5, connect=0, read=0, status=0, other=0, redirect=5),
    }
    proxy = _proxy(url)
    pool: _WithinHost
    if proxy is None:
        pool = _WithinHost(**options)
    else:
        pool = _WithinHostByProxy(proxy, proxy_headers=_proxy_login(proxy), **options)
    pool.home = url
    return pool


def _proxy(url: RemoteUrl) -> str | None:
    if urllib.request.proxy_bypass(url.netloc):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(url.scheme.value) or proxies.get("all")


def _proxy_login(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    return make_headers(proxy_basic_auth=f"{unquote(parts.username)}:{unquote(parts.password or '')}")
