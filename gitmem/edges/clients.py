"""dulwich's clients, made so that nothing but our own arguments decides what they do.

Each is built by hand with `config=None`: dulwich would otherwise take an ssh command, a proxy program, a rewritten address
or a certificate file from the repository's configuration, which an agent may have written (B98). Proxies and certificates
come from the user's environment.
"""

import os
import shlex
import shutil
import urllib.request
from collections.abc import Callable

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
from urllib3 import BaseHTTPResponse
from urllib3.util import Retry, Timeout

from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges import bare
from gitmem.edges.wire import Login, Request
from gitmem.errors import RemoteError

_CONNECT = 10.0
_SSH_OPTIONS = (
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
    "-oControlMaster=no",  # a master would live on after us
    "-oPermitLocalCommand=no",
)
_OTHER_SSH = ("plink", "tortoiseplink", "putty", "simple")
"""Programs that do not take OpenSSH's options, as git names them in GIT_SSH_VARIANT."""


class _SameHostClient(HttpGitClient):
    """Follows a redirect within the host only: a backup must not go where nobody sent it."""

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | None = None,
        raise_for_status: bool = True,  # noqa: FBT001, FBT002  (dulwich's signature)
    ) -> tuple[BaseHTTPResponse, Callable[[int], bytes]]:
        found: tuple[BaseHTTPResponse, Callable[[int], bytes]] = super()._http_request(
            url, headers, data, raise_for_status
        )
        return found
