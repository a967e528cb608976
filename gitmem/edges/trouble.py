"""What went wrong with a transfer, as a `RemoteError` state.

dulwich reports the same trouble differently on each way: the table is merge.md, section 1 (errors). A state
decides what happens next: the network is tried again soon, a wrong password is not (merge.md, section 5,
backoff).
"""

import errno
import os
import re
import socket

from dulwich.client import HTTPProxyUnauthorized, HTTPUnauthorized, StrangeHostname
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository, SendPackError
from dulwich.file import FileLocked

from gitmem.core import remote_url
from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges.wire import DAMAGED
from gitmem.errors import GitmemError, RemoteError

_AUTH = re.compile(
    r"permission denied|host key verification failed|too many authentication failures|authentication failed|"
    r"remote host identification has changed|no supported authentication|access denied to|"
    r"permission to .* denied|not allowed to push|you are not allowed",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"does not appear to be a git repository|repository .*not found|repository .*does not exist|"
    r"access denied or repository not exported|no such file or directory|project .*could not be found",
    re.IGNORECASE,
)
_OFFLINE = re.compile(
    r"could not resolve|name or service not known|temporary failure in name resolution|connection refused|"
    r"no route to host|network is unreachable|connection reset|connection closed by|broken pipe|host is down|"
    r"nodename nor servname",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(r"timed out|timeout|not responding", re.IGNORECASE)
_REFUSED = re.compile(r"service not enabled|quota|too large|read-only|archived|no space left", re.IGNORECASE)
_BY_TEXT = (
    ("auth", _AUTH),
    ("missing", _MISSING),
    ("offline", _OFFLINE),
    ("timeout", _TIMEOUT),
    ("refused", _REFUSED),
)
_HTTP_STATUS = re.compile(r"unexpected http resp (\d{3})")
_HTTP_STATES = {
    401: "auth",
    402: "refused",
    403: "auth",
    404: "missing",
    410: "missing",
    413: "refused",
    451: "refused",
}
_ERRNO_STATES = {
    errno.ENOSPC: "refused",
    errno.EDQUOT: "refused",
    errno.EROFS: "refused",
    errno.EACCES: "refused",
    errno.EPERM: "refused",
    errno.ENOENT: "missing",
    errno.ENOTDIR: "missing",
    errno.ETIMEDOUT: "timeout",
    errno.ECONNREFUSED: "offline",
    errno.ECONNRESET: "offline",
    errno.ECONNABORTED: "offline",
    errno.EHOSTUNREACH: "offline",
    errno.EHOSTDOWN: "offline",
    errno.ENETUNREACH: "offline",
    errno.ENETDOWN: "offline",
    errno.EPIPE: "offline",
    errno.EADDRNOTAVAIL: "offline",
}
_HINTS = {
    "offline": "It is tried again by itself; commits go on meanwhile.",
    "timeout": "It is tried again by itself; commits go on meanwhile.",
    "missing": "Check the address with: gitmem remote list. The repository must exist before a push.",
}
_LOGIN_HINT = (
    "Set GITMEM_TOKEN, or put https://USER:TOKEN@HOST into the file `credentials` of gitmem's settings "
    "folder (mode 0600), or set up a git credential helper."
)
_SSH_HINT = (
    "Try it by hand: ssh -o BatchMode=yes {host}. The key must be in the ssh agent or without a passphrase."
)
_CERTIFICATE_HINT = "Name the file of a private authority's certificate in GIT_SSL_CAINFO."


def explain(error: Exception, url: RemoteUrl) -> RemoteError:
    """The error to show for what a transfer raised."""
    if isinstance(error, RemoteError):
        return error
    if isinstance(error, GitmemError):  # damage in our own repository
        return RemoteError(DAMAGED, str(error), error.hint)
    state, text = _classify(error)
    return RemoteError(state, f"{_where(url)}: {remote_url.printable(text)}", _hint(state, text, url))


def _where(url: RemoteUrl) -> str:
    return url.path if url.scheme is Scheme.PATH else url.netloc


def _hint(state: str, text: str, url: RemoteUrl) -> str | None:
    if state != "auth":
        return _HINTS.get(state)
    if "certificate" in text:
        return _CERTIFICATE_HINT
    if url.scheme is Scheme.SSH:
        return _SSH_HINT.format(host=f"{url.user}@{url.host}" if url.user else url.host)
    return _LOGIN_HINT if url.web else None


_BY_TYPE: tuple[tuple[type[Exception], str, str], ...] = (
    (HTTPUnauthorized, "auth", "the user name and password (or token) were not accepted, or none was given"),
    (HTTPProxyUnauthorized, "auth", "the proxy wants a user name and password"),
    (NotGitRepository, "missing", "there is no git repository at this address"),
    (StrangeHostname, "refused", "the host name looks like an option"),
    (NotImplementedError, "protocol", "the server does not speak git's smart protocol"),
)


def _classify(error: Exception) -> tuple[str, str]:
    """State and sentence for an exception of dulwich, urllib3 or the system."""
    for kind, state, text in _BY_TYPE:
        if isinstance(error, kind):
            return state, text
    match error:
        case FileLocked():
            return (
                "refused",
                f"another program holds the lock {os.fsdecode(error.lockfilename)}, or left it behind",
            )
        case SendPackError():
            return "refused", f"the server could not store what was sent: {_first_argument(error)}"
        case GitProtocolError():
            return _protocol(error)
        case OSError():
            return _system(error)
        case _:
            return "protocol", f"the answer made no sense ({type(error).__name__}: {error})"


def _first_argument(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)


def _protocol(error: GitProtocolError) -> tuple[str, str]:
    cause = error.__cause__
    if cause is not None and type(cause).__module__.startswith("urllib3"):
        from gitmem.edges import web  # noqa: PLC0415  (loaded already when this happens, and costly otherwise)

        return web.explain(cause)
    text = str(error)
    if found := _HTTP_STATUS.search(text):
        status = int(found[1])
        return _HTTP_STATES.get(status, "protocol"), f"the server answers with HTTP status {status}"
    if isinstance(error, HangupException) and not error.stderr_lines:
        return "offline", "the server closed the connection"
    return _by_text(text), text


def _by_text(text: str) -> str:
    return next((state for state, pattern in _BY_TEXT if pattern.search(text)), "protocol")


def _system(error: OSError) -> tuple[str, str]:
    if isinstance(error, TimeoutError):
        return "timeout", "the server does not answer"
    if isinstance(error, socket.gaierror):
        return "offline", "the host name cannot be resolved"
    state = _ERRNO_STATES.get(error.errno or 0, "protocol")
    return state, f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
