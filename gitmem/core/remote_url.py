"""Addresses of remotes: parsed, checked and shown without secrets.

What an address may be is decided here and nowhere else: a local path, `file:`, `ssh:` (also as
`git@host:path`), `http:`, `https:` or `git:`. Anything that would run a program (`ext::`), be taken for an
option (`-x`) or carry a password is refused (gitstore, section 1; merge.md, section 5: the token is never
in the URL).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import SplitResult, unquote, urlsplit

from gitmem.errors import UsageError


class Scheme(StrEnum):
    """How a remote is reached."""

    PATH = "path"
    SSH = "ssh"
    HTTP = "http"
    HTTPS = "https"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """A checked address.

    Attributes:
        text: As a person wrote it; it holds no password or token.
        scheme: How to get there; a `file:` URL is a path.
        path: Of the repository there, percent-decoded except for http, which sends it as it is.
        host: Empty for a path.
        port: None for the scheme's own.
        user: None where the address names none.
    """

    text: str
    scheme: Scheme
    path: str
    host: str = ""
    port: int | None = None
    user: str | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def web(self) -> bool:
        """Whether it is reached by http, so that a user name and password may be asked for."""
        return self.scheme in (Scheme.HTTP, Scheme.HTTPS)

    @property
    def encrypted(self) -> bool:
        """Whether nobody on the way can read along; a path stays on this machine."""
        return self.scheme in (Scheme.PATH, Scheme.SSH, Scheme.HTTPS) or self.host in _LOOPBACK

    @property
    def netloc(self) -> str:
        """Host and, where one is given, port, as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SCHEMES = {
    "file": Scheme.PATH,
    "ssh": Scheme.SSH,
    "git+ssh": Scheme.SSH,
    "ssh+git": Scheme.SSH,
    "http": Scheme.HTTP,
    "https": Scheme.HTTPS,
    "git": Scheme.GIT,
}
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCP = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@/:\[\]]+):(?P<path>.*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*)|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_USER = re.compile(r"[^\s/:@-][^\s/:]*")
_TOKEN = re.compile(
    r"(?:gh[opusr]_|github_pat_|gl[a-z]{2,6}-|ATBB|ATCTT|hf_|xox[a-z]-|pypi-|sk-)\S{8,}|[A-Za-z0-9_-]{32,}"
)
_USERINFO = re.compile(r"(?<=://)[^\s/]*@")
_KEEP_OUT = "Leave it out; see `gitmem remote --help` for where a password or token goes."


def parse(text: str) -> RemoteUrl:
    """Check an address.

    Raises:
        UsageError: It is empty, dangerous, of an unknown kind, or carries a password or token (which the
            message does not repeat).
    """
    if not text or text != text.strip() or _CONTROL.search(text):
        raise UsageError(
            "the address of a remote is empty or has blanks or control characters in or around it"
        )
    if text.startswith("-"):
        raise UsageError(
            f"the address {shown(text)} looks like an option", "Write a path that starts with - as ./-x"
        )
    if _HELPER.match(text):
        raise UsageError(
            f"the address {shown(text)} names a program to run; gitmem never does that",
            "Use a path, or an ssh, https, http or git address.",
        )
    if found := _URL.match(text):
        return _from_url(text, found[1].lower())
    head = text.split("/", 1)[0]
    if ":" in head and not text.startswith((".", "~")):
        return _from_scp(text)
    return RemoteUrl(text, Scheme.PATH, text)


def _from_url(text: str, name: str) -> RemoteUrl:
    scheme = _SCHEMES.get(name)
    if scheme is None:
        raise UsageError(
            f"{name}: is not a kind of address that gitmem uses", f"Use one of {', '.join(_SCHEMES)}."
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise UsageError(f"the address {shown(text)} has no valid host and port") from None
    if "\\" in text:
        raise UsageError(f"the address {shown(text)} has a backslash, which programs read differently")
    if parts.query or parts.fragment or text.endswith(("?", "#")):
        raise UsageError(f"the address {shown(text)} has a query or fragment", _KEEP_OUT)
    if parts.password is not None:
        raise UsageError(f"the address {shown(text)} carries a password", _KEEP_OUT)
    if scheme is Scheme.PATH:
        return _from_file(text, parts)
    user = None if parts.username is None else unquote(parts.username)
    path = parts.path if scheme in (Scheme.HTTP, Scheme.HTTPS) else unquote(parts.path)
    return _checked(RemoteUrl(text, scheme, path, parts.hostname or "", port, user))


def _from_file(text: str, parts: SplitResult) -> RemoteUrl:
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not path.startswith("/") or _CONTROL.search(path):
        raise UsageError(
            f"the address {shown(text)} is not a file on this machine", "Write it as file:///path"
        )
    return RemoteUrl(text, Scheme.PATH, path)


def _from_scp(text: str) -> RemoteUrl:
    found = _SCP.fullmatch(text)
    if found is None:
        raise UsageError(f"the address {shown(text)} is neither a URL, a path nor user@host:path")
    if "@" in found["path"].split("/", 1)[0]:
        raise UsageError(f"the address {shown(text)} seems to carry a password", _KEEP_OUT)
    host = found["host"].removeprefix("[").removesuffix("]")
    return _checked(RemoteUrl(text, Scheme.SSH, found["path"], host, None, found["user"]))


def _checked(url: RemoteUrl) -> RemoteUrl:
    if not _HOST.fullmatch(url.host):
        raise UsageError(
            f"the address {shown(url.text)} has no valid host name",
            "Write names with other letters as xn--...",
        )
    if url.port == 0 or not url.path.strip("/") or url.path.startswith("-"):
        raise UsageError(f"the address {shown(url.text)} names no repository on its host")
    if _CONTROL.search(unquote(url.path)):
        raise UsageError(f"the address {shown(url.text)} has control characters in its path")
    if url.user is not None:
        _check_user(url, url.user)
    return url


def _check_user(url: RemoteUrl, user: str) -> None:
    if url.scheme is not Scheme.SSH and _TOKEN.fullmatch(user):
        raise UsageError(f"the address {shown(url.text)} carries a token", _KEEP_OUT)
    if url.scheme is Scheme.GIT or not _USER.fullmatch(user) or _CONTROL.search(user):
        raise UsageError(f"the address {shown(url.text)} has a user name that cannot be used")


def shown(text: str) -> str:
    """An address that may be wrong or hold a secret, fit for a message: rather too little than too much.

    A query is left out and, where a password may stand, all before the last `@`.
    """
    before, _, rest = _CONTROL.sub("", text).rpartition("@")
    if before and any(mark in before for mark in "?#"):
        rest = "***"
    rest = rest.split("?", 1)[0].split("#", 1)[0]
    scheme, slashes, _ = before.partition("://")
    if slashes:
        return f"{scheme}://***@{rest}"
    return f"***@{rest}" if ":" in before else f"{before}@{rest}" if before else rest


def redact(text: str) -> str:
    """Any text with the user part of every URL in it replaced by `***`."""
    return _USERINFO.sub("***@", text)


def printable(text: str, limit: int = 600) -> str:
    """Text of a server or program as one redacted line of at most `limit` printable characters."""
    clean = "".join(c if c.isprintable() else " " for c in redact(text))
    return " ".join(clean.split())[:limit]
