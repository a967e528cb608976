"""The words on the daemon's private socket. The client half imports only the standard library: hooks must be cheap.

One JSON object on one line each way. Requests: `{"do": "status" | "flush" | "ping"}`, or `{"do": "notify", "event": ...,
"path": ..., "session": ...}`. Answers: `{"ok": true, ...}` or `{"ok": false, "error": ...}`.
"""

import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Answer = Mapping[str, Any]
_LIMIT = 1 << 20
_LONGEST = 100
"""Bytes of a socket path; the kernel's limit is 104 on macOS and 108 on Linux."""


def record_path(state: Path) -> Path:
    """The file in which a daemon says where its socket is."""
    return state / "daemon.json"


def ask(state: Path, request: Mapping[str, Any], *, timeout: float = 10.0) -> Answer | None:
    """Ask the daemon of a workspace.

    Args:
        state: The workspace's state folder (`<git dir>/gitmem`).
        request: See the module's docstring.
        timeout: Seconds to wait for the answer.

    Returns:
        The answer; None when no daemon listens.
    """
    try:
        address = json.loads(record_path(state).read_text("utf-8"))["socket"]
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            connection.connect(address)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer: Any = json.loads(_line(connection))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return answer if isinstance(answer, dict) else None


def _line(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LIMIT:
        chunk = connection.recv(65536)
        if not chunk:
            break
        data += chunk
    return data


def socket_path(identity: str, state: Path) -> Path:
    """Where a daemon listens: the user's runtime folder, else the state folder, else a private temporary folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        folder = Path(runtime) / "gitmem"
    elif len(os.fsencode(state)) + 14 <= _LONGEST:
        return state / "control.sock"
    else:
        folder = Path(tempfile.gettempdir()) / f"gitmem-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
        folder = Path(tempfile.mkdtemp(prefix="gitmem-"))
    return folder / f"{identity}.sock"


class Server:
    """Listens on a private socket and hands each request to `handle`, one at a time, in a thread of its own."""

    def __init__(self, path: Path, handle: Callable[[Answer], Answer]) -> None:
        self.path = path
        self._handle = handle
        if path.exists() and stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen(16)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self.path.unlink(missing_ok=True)
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(timeout=2)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5.0)
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        try:
            request: Any = json.loads(_line(connection))
            answer = (
                self._handle(request)
                if isinstance(request, dict)
                else {"ok": False, "error": "not an object"}
            )
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError):
            return  # the client went away or spoke nonsense; it sees the closed connection
