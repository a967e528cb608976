"""Entries that left the queue: found in history, each once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.actions.dropped import HISTORY, dropped
from gitmem.core import history
from gitmem.core.model import Kind
from gitmem.edges.repo import Repository
from tests.histories import MAIN, History, new_workspace


@pytest.fixture
def past(tmp_path: Path) -> Iterator[History]:
    with Repository(new_workspace(tmp_path / "ws").git) as repo:
        yield History(repo)


def queue(*cursors: int, shift: int = 0) -> bytes:
    lines = [history.record(cursor + shift, "2026-01-05 09:00", f"e{cursor}") for cursor in cursors]
    return b"".join(line + b"\n" for line in lines)


def told(past: History, present: bytes) -> list[tuple[int, str | None]]:
    return [
        (item.entry.cursor, item.commit.sha if item.commit else None) for item in dropped(past.repo, present)
    ]


def test_a_queue_that_only_grew_has_lost_nothing(past: History) -> None:
    assert told(past, queue(1)) == []
    past.add(Kind.CONSOLIDATE, {HISTORY: queue(1)})
    past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2)})
    assert told(past, queue(1, 2, 3)) == []


def test_a_dropped_entry_is_told_with_the_commit_that_dropped_it(past: History) -> None:
    past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2, 3)})
    first = past.add(Kind.COMPACT, {HISTORY: queue(2, 3)})
    second = past.add(Kind.COMPACT, {HISTORY: b"damage\n" + queue(3, 4)})
    assert told(past, queue(3, 4)) == [(1, first), (2, second)]


def test_one_that_returned_is_not_dropped_and_one_dropped_twice_is_told_once(past: History) -> None:
    past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2, 3)})
    past.add(Kind.COMPACT, {HISTORY: queue(3)})
    past.add(Kind.RESTORE, {HISTORY: queue(1, 2, 3)})
    last = past.add(Kind.COMPACT, {HISTORY: queue(2, 3)})
    assert told(past, queue(2, 3)) == [(1, last)]


def test_what_is_gone_from_disk_only_is_told_without_a_commit(past: History) -> None:
    past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2)})
    assert told(past, queue(2)) == [(1, None)]
    assert told(past, b"") == [(1, None), (2, None)]


def test_an_entry_with_a_new_cursor_is_still_there(past: History) -> None:
    past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2)})
    past.add(Kind.MERGE, {HISTORY: queue(1, 2, shift=10)})
    assert told(past, queue(1, 2, shift=10)) == []


def test_a_merge_is_not_what_dropped_the_entries_of_the_other_side(past: History) -> None:
    base = past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2)})
    side = past.add(Kind.COMPACT, {HISTORY: queue(2)})
    ours = past.add(Kind.CONSOLIDATE, {HISTORY: queue(1, 2, 3)}, parents=(base,))
    past.add(Kind.MERGE, {HISTORY: queue(2, 3)}, parents=(ours, side), ref=MAIN)
    assert told(past, queue(2, 3)) == [(1, side)]
