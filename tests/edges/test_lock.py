"""Locks between processes: one holder, named; a dead one's lock is free at once."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitmem.edges.lock import FileLock, holder
from gitmem.errors import WorkspaceLocked

HOLD = """
import sys
from pathlib import Path
from gitmem.edges.lock import FileLock
with FileLock(Path(sys.argv[1])).hold(0.0):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_at_a_time_and_the_holder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with FileLock(path).hold(0.0):
        with pytest.raises(WorkspaceLocked, match=str(os.getpid())), FileLock(path).hold(0.05):
            raise AssertionError
        assert path.stat().st_mode & 0o077 == 0
    with FileLock(path).hold(0.0):
        found = holder(path)
        assert found is not None
        assert found.pid == os.getpid()


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(WorkspaceLocked, match=f"pid {child.pid}"), FileLock(path).hold(0.0):
            raise AssertionError
        child.send_signal(signal.SIGKILL)
        child.wait(10)
        with FileLock(path).hold(5.0):
            pass


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(20):
            with FileLock(tmp_path / "x.lock").hold(10.0):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


@pytest.mark.parametrize("text", ["", "garbage", "[]", '{"pid": "x"}'])
def test_a_damaged_note_is_no_note(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.lock").write_text(text)
    assert holder(tmp_path / "x.lock") is None
