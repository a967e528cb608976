"""Tell the gitmem daemon that something was saved: `gitmem_notify.py WORKSPACE-OR-GIT-DIR [EVENT [SESSION]]`.

For agents' hooks: standard library only, silent, and always successful.
"""

import json
import socket
import sys
from contextlib import suppress
from pathlib import Path


def notify(place: Path, event: str, session: str | None) -> None:
    """Send one line to the daemon of a workspace.

    Raises:
        OSError: Nobody listens.
        ValueError: The daemon's record is unreadable.
        KeyError: The daemon's record is unreadable.
    """
    folders = (place / ".git" / "gitmem", place / "gitmem")
    record = next(folder / "daemon.json" for folder in folders if (folder / "daemon.json").is_file())
    address = json.loads(record.read_text("utf-8"))["socket"]
    request = {"do": "notify", "event": event, "session": session}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        connection.connect(address)
        connection.sendall(json.dumps(request).encode() + b"\n")
        connection.recv(1)


def main(words: list[str]) -> None:
    """Read the words of the command line and notify; nobody listening is no error."""
    with suppress(OSError, ValueError, KeyError, IndexError, StopIteration):
        notify(
            Path(words[0]), words[1] if len(words) > 1 else "changed", words[2] if len(words) > 2 else None
        )


if __name__ == "__main__":
    main(sys.argv[1:])
