"""Git over http: a client that stays on its host, and what its troubles mean.

Apart from the other clients because urllib3 takes long to load. Of the environment only proxies count here;
which certificates to trust comes with the request.
"""

import ssl
import urllib.request
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3
from dulwich.client import HttpGitClient, default_user_agent_string
from urllib3.util import Retry, Timeout, make_headers

from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges.wire import Login, Request
from gitmem.errors import RemoteError

_CONNECT = 10.0
"""Seconds to wait for a connection."""


def client(request: Request, url: RemoteUrl, login: Login | None) -> HttpGitClient:
    """A client for an address, which is also the path: its methods take an empty one."""
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


def explain(error: BaseException) -> tuple[str, str]:
    """What urllib3 met; it wraps the cause in "too many retries" although there is one try only."""
    if isinstance(error, urllib3.exceptions.MaxRetryError):
        error = error.reason or error
    if _certificate(error):
        return "auth", f"the server's certificate is not trusted ({error})"
    match error:
        case urllib3.exceptions.NameResolutionError():
            return "offline", "the host name cannot be resolved"
        case urllib3.exceptions.NewConnectionError() | urllib3.exceptions.ProxyError():
            return "offline", f"no connection ({_short(error)})"
        case urllib3.exceptions.TimeoutError():
            return "timeout", "the server does not answer"
        case urllib3.exceptions.ProtocolError():
            return "offline", f"the connection broke ({_short(error)})"
        case _:
            return "protocol", str(error)


def _certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = (
            error.__cause__
            or error.__context__
            or next((a for a in error.args if isinstance(a, BaseException)), None)
        )
    return False


def _short(error: BaseException) -> str:
    return str(error).rsplit(": ", 1)[-1]
