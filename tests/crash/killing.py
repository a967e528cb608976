"""Killing a process at each of its disk operations in turn: nothing between two system calls may leave a state in between."""

import os
import shutil
import signal
import subprocess
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from gitmem.actions import recover
from gitmem.actions.capture import Capture
from gitmem.edges import syscalls, workspace
from gitmem.edges.opened import open_workspace

LIMIT = 400


def kill_points(work: Callable[[], object]) -> Iterator[int]:
    """Run `work` in a child that is killed before its first disk operation, then its second, ..., until it gets through.

    Yields:
        The number of the operation before which the child was killed. The caller puts everything back in between.
    """
    for point in range(LIMIT):
        if not run_until(work, point):
            return
        yield point
    raise AssertionError(f"more than {LIMIT} operations")


def run_until(work: Callable[[], object], point: int) -> bool:
    """Run `work` in a child that kills itself before disk operation number `point`; whether it was killed."""
    child = os.fork()
    if child == 0:
        _child(work, point)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return False


def _child(work: Callable[[], object], point: int) -> None:
    count = 0

    def before(operation: str, target: str) -> None:
        nonlocal count
        del operation, target
        if count == point:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1

    syscalls.before = before
    try:
        work()
    except BaseException:  # noqa: BLE001  the child must not run the parent's tests
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def capture(root: Path) -> None:
    with open_workspace(workspace.find(root)) as opened:
        work = Capture(opened)
        paths = work.scan()
        work.run(paths, overdue=paths)


def every_kill(
    root: Path, work: Callable[[], object], check: Callable[[bool], None], recovery: Callable[[], object]
) -> int:
    """Kill `work` everywhere; after each kill recover (killed everywhere too, now and then) and check. The number of kills."""
    saved = root.with_name("saved")
    shutil.copytree(root, saved, symlinks=True)
    points = 0
    for point in kill_points(work):
        points += 1
        if point % 7 == 3:
            next(iter(kill_points(recovery)), None)
        recovery()
        check(False)
        fsck(root)
        shutil.rmtree(root)
        shutil.copytree(saved, root, symlinks=True)
    check(True)
    fsck(root)
    return points


def fsck(root: Path) -> None:
    if shutil.which("git"):
        done = subprocess.run(
            ["git", "-C", root, "fsck", "--full", "--strict"], capture_output=True, check=True
        )
        assert b"error" not in done.stdout + done.stderr


def start(root: Path) -> None:
    """What a daemon does at its start, replay left out."""
    with open_workspace(workspace.find(root)) as opened:
        recover.recover(opened)
        work = Capture(opened)
        paths = work.scan()
        work.run(paths, overdue=paths)


def head(root: Path) -> dict[str, bytes]:
    with open_workspace(workspace.find(root)) as opened:
        return {
            path: opened.repo.read(entry).data
            for path, entry in opened.repo.files(opened.repo.head()).items()
        }


def disk(root: Path) -> dict[str, bytes]:
    found = {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }
    return {
        path: data
        for path, data in found.items()
        if not path.startswith(".git/") and not path.endswith((".tmp", ".lock"))
    }
