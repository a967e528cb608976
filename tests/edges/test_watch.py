"""Events are hints: none of what matters is missed, nothing of ours wakes us, and watching mends itself."""

import errno
import logging
import queue
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.observers.api import BaseObserver

from gitmem.edges.watch import Dirty, Event, Rescan, Watcher

PATIENCE = 10.0


class Seen:
    """What a watcher told, with waiting for what has not been told yet."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.all: list[Event] = []

    def until(self, condition: Callable[[Event], bool]) -> Event:
        deadline = time.monotonic() + PATIENCE
        while True:
            event = self.queue.get(timeout=max(0.01, deadline - time.monotonic()))
            self.all.append(event)
            if condition(event):
                return event

    def path(self, path: str) -> None:
        self.until(lambda event: isinstance(event, Dirty) and event.path == path)

    def covering(self, path: str) -> None:
        """Until something makes the reader look at a path: itself, or a scan of a folder above it."""
        self.until(
            lambda event: event.path is None or path == event.path or path.startswith(f"{event.path}/")
        )


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def watcher(tmp_path: Path, seen: Seen) -> Iterator[Watcher]:
    (tmp_path / "ws" / "memory").mkdir(parents=True)
    watcher = Watcher({"": tmp_path / "ws"}, seen.queue.put, ignored=lambda _, path: path.startswith(".git"))
    watcher.start()
    yield watcher
    watcher.stop()


def test_writes_renames_and_removals_are_told(tmp_path: Path, watcher: Watcher, seen: Seen) -> None:
    root = tmp_path / "ws"
    (root / "a.md").write_text("x")
    seen.path("a.md")
    (root / ".a.md.tmp").write_text("y")
    (root / ".a.md.tmp").replace(root / "memory" / "b.md")
    seen.path("memory/b.md")
    (root / "a.md").unlink()
    seen.path("a.md")


def test_b45_reading_tells_nothing(tmp_path: Path, watcher: Watcher, seen: Seen) -> None:
    root = tmp_path / "ws"
    (root / "a.md").write_text("x")
    (root / "mark").write_text("x")
    seen.path("mark")
    seen.all.clear()
    for _ in range(50):
        (root / "a.md").read_text()
        list(root.iterdir())
    (root / "end").write_text("x")
    seen.path("end")
    assert {event.path for event in seen.all} <= {"mark", "end"}


def test_what_is_ignored_tells_nothing(tmp_path: Path, watcher: Watcher, seen: Seen) -> None:
    root = tmp_path / "ws"
    (root / ".git").mkdir()
    (root / ".git" / "x").write_text("x")
    (root / "end").write_text("x")
    seen.path("end")
    assert {event.path for event in seen.all} == {"end"}


@pytest.mark.parametrize("turn", range(10))
def test_b43_files_in_new_folders_are_covered(
    tmp_path: Path, watcher: Watcher, seen: Seen, turn: int
) -> None:
    root = tmp_path / "ws"
    (root / "skills" / "a" / "b").mkdir(parents=True)
    (root / "skills" / "a" / "b" / "SKILL.md").write_text("x")
    seen.covering("skills/a/b/SKILL.md")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "SKILL.md").write_text("x")
    (tmp_path / "outside").rename(root / "skills" / "moved")
    seen.covering("skills/moved/SKILL.md")


def test_b48_a_replaced_root_is_watched_again(tmp_path: Path, watcher: Watcher, seen: Seen) -> None:
    root = tmp_path / "ws"
    shutil.rmtree(root)
    watcher.check()
    root.mkdir()
    watcher.check()
    assert watcher.restarts >= 1
    (root / "new.md").write_text("x")
    seen.path("new.md")


def test_b42_a_dead_observer_is_started_again_with_a_rescan(
    tmp_path: Path, watcher: Watcher, seen: Seen
) -> None:
    observer = watcher._observer
    assert observer is not None
    observer.stop()
    observer.join()
    watcher.check()
    assert watcher.restarts == 1
    seen.until(lambda event: isinstance(event, Rescan) and event.path is None)
    (tmp_path / "ws" / "a.md").write_text("x")
    seen.path("a.md")


def test_b40_lost_events_are_counted_and_make_a_rescan(watcher: Watcher, seen: Seen) -> None:
    logging.getLogger("watchdog.observers.inotify_c").warning(
        "Inotify queue overflowed; filesystem events were lost"
    )
    assert watcher.overflows == 1
    seen.until(lambda event: isinstance(event, Rescan) and event.path is None)


def test_without_watches_left_the_folder_is_polled(
    tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(BaseObserver, "start", refuse)
    watcher = Watcher({"": tmp_path}, seen.queue.put)
    watcher.start()
    try:
        assert watcher.mode == "polling"
        watcher.check()
        seen.until(lambda event: isinstance(event, Rescan))
    finally:
        watcher.stop()
