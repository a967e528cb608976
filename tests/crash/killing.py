"""Killing a process at each of its disk operations in turn: nothing between two system calls may leave a state in between."""

import os
import signal
import traceback
from collections.abc import Callable, Iterator

from gitmem.edges import syscalls

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
