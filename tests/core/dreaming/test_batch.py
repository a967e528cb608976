"""Which entries a Dream takes: none is passed over, whatever the order of the file."""

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import history
from gitmem.core.dreaming.batch import SIZE, as_data, is_skipped, next_batch
from tests.core.dreaming.drafts import batch


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(0, 60), st.integers(1, 30))
def test_batches_take_every_unseen_entry_once_in_the_order_of_cursors(
    cursors: list[int], dreamed: int, room: int
) -> None:
    data = b"".join(history.record(cursor, "2026-01-05 09:00", "x") + b"\n" for cursor in cursors)
    queue, taken = history.parse(data), []
    wanted = sorted(cursor for cursor in cursors if cursor > dreamed)
    while found := next_batch(queue, dreamed, lambda entries: len(entries) <= room):
        taken += [entry.cursor for entry in found.entries]
        assert len({entry.cursor for entry in found.entries}) <= SIZE
        assert found.last > dreamed
        assert found.more == any(cursor > found.last for cursor in cursors)
        dreamed = found.last
    assert taken == wanted


def test_entries_that_say_so_themselves_are_skipped() -> None:
    found = batch("- [skip] rain", "(nothing)", "", "- [skip] a\n- [durable] b", "plain")
    assert [is_skipped(entry) for entry in found.entries] == [True, True, True, False, False]
    assert found.citable == {4, 5}


def test_data_is_one_line_an_entry() -> None:
    assert as_data(batch("a\nb", "c").entries).count("\n") == 1
