"""Which state each kind of trouble has; the texts are what ssh, git and the big servers really write."""

import errno
import socket

import pytest
from dulwich.client import HTTPProxyUnauthorized, HTTPUnauthorized, StrangeHostname
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository, SendPackError
from dulwich.file import FileLocked
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import remote_url
from gitmem.edges import trouble
from gitmem.edges.wire import DAMAGED
from gitmem.errors import RemoteError, RepositoryRefused

SSH = remote_url.parse("git@example.org:mem.git")
WEB = remote_url.parse("https://example.org/mem.git")


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("git@example.org: Permission denied (publickey).", "auth"),
        ("Host key verification failed.", "auth"),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", "auth"),
        ("Received disconnect from ::1: Too many authentication failures", "auth"),
        ("ssh: Could not resolve hostname nas: Name or service not known", "offline"),
        ("ssh: Could not resolve hostname nas: Temporary failure in name resolution", "offline"),
        ("ssh: connect to host nas port 22: Connection refused", "offline"),
        ("ssh: connect to host nas port 22: No route to host", "offline"),
        ("ssh: connect to host nas port 22: Network is unreachable", "offline"),
        ("kex_exchange_identification: Connection closed by remote host", "offline"),
        ("kex_exchange_identification: read: Connection reset by peer", "offline"),
        ("ssh: connect to host nas port 22: Connection timed out", "timeout"),
        ("Timeout, server nas not responding.", "timeout"),
        ("Connection timed out during banner exchange", "timeout"),
        ("fatal: '/srv/x.git' does not appear to be a git repository", "missing"),
        ("bash: line 1: git-receive-pack: command not found", "protocol"),
    ],
)
def test_what_ssh_says_has_a_state(lines: str, state: str) -> None:
    error = HangupException([line.encode() for line in lines.split("\n")])
    assert trouble.explain(error, SSH).state == state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Repository not found.", "missing"),
        ("Repository 'me/mem' does not exist", "missing"),
        (
            "The project you were looking for could not be found or you don't have permission to view it.",
            "missing",
        ),
        ("access denied or repository not exported: /x.git", "missing"),
        ("Permission to me/mem.git denied to you.", "auth"),
        ("You are not allowed to push code to this project.", "auth"),
        ("service not enabled: /x.git", "refused"),
        ("This repository was archived so it is read-only.", "refused"),
        ("unexpected http resp 401 for https://u:p@h/", "auth"),
        ("unexpected http resp 413 for https://h/", "refused"),
        ("unexpected http resp 503 for https://h/", "protocol"),
        ("unexpected first line b'<html>' from smart server", "protocol"),
    ],
)
def test_what_servers_say_has_a_state(text: str, state: str) -> None:
    error = trouble.explain(GitProtocolError(text), WEB)
    assert error.state == state
    assert "u:p" not in str(error)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (HTTPUnauthorized("Basic", "https://u:t0ps3cret@h/"), "auth"),
        (HTTPProxyUnauthorized("Basic", "https://h/"), "auth"),
        (NotGitRepository(), "missing"),
        (HangupException(), "offline"),
        (StrangeHostname("-x"), "refused"),
        (SendPackError(b"unpack index-pack abnormal exit"), "refused"),
        (SendPackError(), "refused"),
        (FileLocked("/srv/x.git/refs/heads/main", "/srv/x.git/refs/heads/main.lock"), "refused"),
        (NotImplementedError("dumb"), "protocol"),
        (AssertionError(), "protocol"),
        (ValueError("x"), "protocol"),
        (KeyError(b"x"), "protocol"),
        (TimeoutError("timed out"), "timeout"),
        (socket.gaierror(-2, "Name or service not known"), "offline"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "offline"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), "offline"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "offline"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "offline"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "offline"),
        (OSError(errno.ENOSPC, "No space left on device", "/srv/x.git"), "refused"),
        (PermissionError(errno.EACCES, "Permission denied", "/srv/x.git"), "refused"),
        (OSError("something"), "protocol"),
    ],
)
def test_every_exception_has_a_state_and_a_sentence(error: Exception, state: str) -> None:
    found = trouble.explain(error, WEB)
    assert found.state == state
    assert "t0ps3cret" not in str(found)
    assert str(found).split(": ", 1)[1]


def test_our_own_damage_is_told_apart() -> None:
    assert trouble.explain(RepositoryRefused("object x is missing"), WEB).state == DAMAGED


def test_an_error_that_has_a_state_keeps_it() -> None:
    error = RemoteError("missing", "no", "hint")
    assert trouble.explain(error, WEB) is error


@given(st.text())
def test_any_text_gives_one_printable_line(text: str) -> None:
    message = str(trouble.explain(GitProtocolError(text), WEB))
    assert message.isprintable()
    assert len(message) < 700
