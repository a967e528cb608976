"""Tell the gitmem daemon that something was saved: `notify.py WORKSPACE [EVENT [SESSION]]` or `--state DIR [EVENT [SESSION]]`.

For agents' hooks: standard library only, silent, and always successful. DIR is the state folder of a workspace whose repository
lies apart (`<git dir>/gitmem`).
"""

import json
import os
import socket
import sys
from contextlib import suppress

TIMEOUT = 1.0
"""Seconds that an agent may be kept waiting."""


def notify(state: str, event: str, session: str | None) -> None:
    """Send one line to the daemon of a workspace, and wait until it was heard.

    Args:
        state: The workspace's state folder.
        event: What happened, for example `session-saved`.
        session: The session's key; None for the whole workspace.

    Raises:
        OSError: Nobody listens.
        ValueError: The daemon's record is unreadable.
        KeyError: The daemon's record names no socket.
        TypeError: The daemon's record is not what it should be.
    """
    with open(os.path.join(state, "daemon.json"), encoding="utf-8") as stream:
        address = json.load(stream)["socket"]
    request = {"do": "notify", "event": event, "session": session}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(address)
        connection.sendall(json.dumps(request).encode() + b"\n")
        connection.recv(1)


def main(words: list[str]) -> None:
    """Read the words of the command line and notify; nobody listening is no error, and neither are odd words."""
    apart = words[:1] == ["--state"]
    place, *more = words[1:] if apart else words or [""]
    state = place if apart else os.path.join(place, ".git", "gitmem")
    event, session = (*more, None, None)[:2]
    with suppress(OSError, ValueError, KeyError, TypeError):
        notify(state, event or "changed", session)


if __name__ == "__main__":
    with suppress(ValueError):  # not even a place was named
        main(sys.argv[1:])
