"""What a terminal gets to see, tried on a pseudo-terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.cli.output import pager_command, relative_time, wants_colour
from gitmem.core.model import Kind
from gitmem.edges.repo import Repository
from tests.histories import History, new_workspace

HOSTILE = b"\x1b]0;owned\x07hello\x1b[2J\r\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    workspace = new_workspace(tmp_path / "ws")
    with Repository(workspace.git) as repo:
        History(repo).add(Kind.INIT, {"MEMORY.md": HOSTILE, "notes.md": b"a\n" * 9000})
        History(repo).add("\x1b[2Jforeign \x9b words\n", {"MEMORY.md": HOSTILE + b"more\n"})
    return workspace.directory


def on_a_terminal(place: Path, *words: str, **environment: str) -> tuple[int, bytes]:
    """Run gitmem with a pseudo-terminal as its output; returns the exit code and what arrived there."""
    main, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "GITMEM_PAGER": "", **environment}
    command = [sys.executable, "-m", "gitmem", words[0], "-C", str(place), *words[1:]]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE, env=env
    ) as child:
        os.close(terminal)
        seen = b""
        while True:
            try:
                data = os.read(main, 65536)
            except OSError:  # Linux says EIO when the last writer is gone
                break
            if not data:
                break
            seen += data
        os.close(main)
        errors = child.stderr.read() if child.stderr else b""
    assert b"Traceback" not in errors
    return child.returncode, seen.replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    "words", [("log", "-p"), ("show", "--raw"), ("diff", "HEAD~1", "HEAD"), ("cat", "MEMORY.md")]
)
def test_memory_cannot_command_the_terminal(place: Path, words: tuple[str, ...]) -> None:
    code, seen = on_a_terminal(place, *words, "--color", "never")
    assert code == 0
    assert b"hello" in seen
    assert b"\\x1b]0;owned\\x07hello\\x1b[2J\\x0d\n" in seen
    assert b"\x1b" not in seen
    assert b"\x9b" not in seen.replace("\u009b".encode(), b"\x9b")


def test_a_terminal_is_shown_colours_and_a_dumb_one_is_not(place: Path) -> None:
    assert b"\x1b[33m" in on_a_terminal(place, "log")[1]
    assert b"\x1b" not in on_a_terminal(place, "log", TERM="dumb")[1]
    assert b"\x1b" not in on_a_terminal(place, "log", NO_COLOR="1")[1]


def test_the_pager_of_the_environment_gets_the_text(place: Path, tmp_path: Path) -> None:
    script = tmp_path / "my pager"
    script.write_text('#!/bin/sh\necho "paged with $1, LESS=$LESS"\nhead -n 1\n')
    script.chmod(0o700)
    code, seen = on_a_terminal(place, "log", "-p", GITMEM_PAGER=f"'{script}' option", PAGER="false")
    assert code == 0
    assert seen.startswith(b"paged with option, LESS=FRX\n")
    assert b"foreign" in seen


def test_a_pager_named_by_the_repository_is_never_run(place: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    with (place / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tpager = touch {trap}\n[pager]\n\tlog = touch {trap}\n")
    assert on_a_terminal(place, "log", PAGER="cat")[0] == 0
    assert not trap.exists()


def test_a_reader_that_goes_away_is_no_error(place: Path) -> None:
    command = [sys.executable, "-m", "gitmem", "log", "-C", str(place), "-p"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        assert child.stderr.read() == b""
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "colour"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
        ("auto", {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"CLICOLOR_FORCE": "1"}, True, False),
    ],
)
def test_colour_follows_option_then_environment_then_terminal(
    choice: str, environment: dict[str, str], *, terminal: bool, colour: bool
) -> None:
    assert wants_colour(choice, environment, terminal=terminal) is colour


def test_there_is_no_pager_when_it_is_empty_cat_absent_or_misspelled() -> None:
    for words in ("", "cat", "no-such-pager", "'unfinished"):
        assert pager_command({"GITMEM_PAGER": words, "PAGER": "sh", "PATH": os.defpath}) is None
    assert pager_command({"PAGER": "sh -x", "PATH": "/bin:/usr/bin"}) in (
        ["/bin/sh", "-x"],
        ["/usr/bin/sh", "-x"],
    )
    assert pager_command({"PAGER": "sh", "TERM": "dumb", "PATH": "/bin"}) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (1, "1 second ago"),
        (89, "89 seconds ago"),
        (90, "2 minutes ago"),
        (3600, "60 minutes ago"),
        (7200, "2 hours ago"),
        (36 * 3600, "2 days ago"),
        (20 * 86400, "3 weeks ago"),
        (100 * 86400, "3 months ago"),
        (800 * 86400, "2 years ago"),
        (-7200, "in 2 hours"),
    ],
)
def test_times_are_told_as_people_say_them(seconds: int, words: str) -> None:
    assert relative_time(1_000_000_000 - seconds, 1_000_000_000) == words
