import json

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import history
from gitmem.core.historydelta import HistoryDelta, history_delta
from gitmem.core.model import Change, File


def queue(*cursors: int, text: str = "x", key: str | None = None) -> bytes:
    lines = (history.record(cursor, "2026-03-01 10:00", f"{text} {cursor}", key) for cursor in cursors)
    return b"".join(line + b"\n" for line in lines)


def compare_queues(old: bytes | None, new: bytes | None) -> HistoryDelta:
    files = (None if data is None else File(data) for data in (old, new))
    return history_delta(Change("memory/history.jsonl", *files))


def test_history_that_grew() -> None:
    delta = compare_queues(queue(1, 2), queue(1, 2, 3, 4))
    assert [entry.cursor for entry in delta.added] == [3, 4]
    assert not delta.dropped
    assert [entry.cursor for entry in compare_queues(None, queue(1)).added] == [1]
    unfinished = queue(1)[:-1]
    assert [entry.cursor for entry in compare_queues(unfinished, unfinished + b"\n" + queue(2)).added] == [2]


def test_history_that_was_compacted_grew_or_not() -> None:
    delta = compare_queues(queue(1, 2, 3, 4), queue(3, 4, 5))
    assert (delta.dropped, [entry.cursor for entry in delta.added]) == ((1, 2), [5])
    assert delta.oldest_dropped
    assert compare_queues(queue(1, 2), b"").oldest_dropped
    assert not compare_queues(queue(1, 2, 3), queue(1, 3)).oldest_dropped
    assert not compare_queues(queue(1, 2), queue(1, 2)).oldest_dropped


def test_history_written_in_another_style_is_no_change_and_another_text_is() -> None:
    style = b"".join(
        json.dumps(json.loads(line), sort_keys=True, separators=(",", ":")).encode() + b"\n"
        for line in queue(1, 2).splitlines()
    )
    assert compare_queues(queue(1, 2), style) == HistoryDelta((), (), (1, 2), ())
    assert compare_queues(queue(1, 2), queue(1) + queue(2, text="y")).changed == (2,)


@given(st.binary(max_size=120), st.binary(max_size=120))
def test_any_bytes_are_compared(old: bytes, new: bytes) -> None:
    delta = compare_queues(old, new)
    assert not {entry.cursor for entry in delta.added} & set(delta.dropped)
