"""The history queue of two machines: every entry once, dreamed exactly where somebody dreamed it, numbers never used twice."""

from hypothesis import assume, given
from hypothesis import strategies as st

from gitmem.core import history, jsonl
from gitmem.core.merge.conflict import Conflict, ConflictKind
from gitmem.core.merge.history import Queue, merge_queue
from tests.core.conversations import Json, file_of
from tests.core.merge.versions import THOROUGH, always_the_same, entries, three


def queue_of(content: list[Json], steps: list[int], dreamed: int) -> Queue:
    """A queue of entries with rising cursors."""
    cursor, lines = 0, []
    for number, fields in enumerate(content):
        cursor += steps[number % len(steps)] if steps else 1
        lines.append({"cursor": cursor, **fields})
    return Queue(file_of(*lines), b"%d" % cursor, b"%d" % min(dreamed, cursor))


NUMBERED = st.tuples(st.lists(st.integers(1, 3), max_size=3), st.integers(0, 12))


@st.composite
def three_queues(draw: st.DrawFn) -> tuple[Queue, Queue, Queue]:
    sides = draw(three(st.lists(entries, max_size=4)))
    queues = [queue_of(side, *draw(NUMBERED)) for side in sides]
    missing = draw(st.integers(0, 9))
    if missing < 3:
        queues[missing] = Queue()
    return queues[0], queues[1], queues[2]


def merge(base: Queue, ours: Queue, theirs: Queue) -> Queue:
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else merge_queue("h", base, ours, theirs)[0]


def dreamed(queue: Queue) -> dict[tuple[str, int], bool]:
    """The entries with their number among equal ones, and whether Dream has taken them."""
    mark = history.parse_cursor(queue.dream_cursor) or 0
    found: dict[tuple[str, int], bool] = {}
    for entry in history.parse(queue.history or b"").entries:
        name = jsonl.identity([entry.timestamp, entry.content, entry.session_key])
        found[name, sum(known == name for known, _ in found)] = entry.cursor <= mark
    return found


def cursors(queue: Queue) -> list[int]:
    return [entry.cursor for entry in history.parse(queue.history or b"").entries]


@THOROUGH
@given(three_queues())
def test_the_same_from_both_sides_and_nothing_to_do_twice(queues: tuple[Queue, Queue, Queue]) -> None:
    always_the_same(merge, *queues, value=lambda queue: queue)


@THOROUGH
@given(three_queues())
def test_every_entry_is_there_and_dreamed_exactly_as_the_sides_decided(
    queues: tuple[Queue, Queue, Queue],
) -> None:
    base, ours, theirs = (dreamed(queue) for queue in queues)
    wanted = []
    for key in ours.keys() | theirs.keys():
        if key not in base or (key in ours and key in theirs):
            flags = {side[key] for side in (ours, theirs) if key in side}
            wanted.append((key[0], flags.pop() if len(flags) == 1 else not base.get(key, False)))
    assert sorted((name, flag) for (name, _), flag in dreamed(merge(*queues)).items()) == sorted(wanted)


@THOROUGH
@given(three_queues())
def test_numbers_rise_and_are_never_used_again(queues: tuple[Queue, Queue, Queue]) -> None:
    base, ours, theirs = queues
    assume(ours not in (base, theirs) and theirs != base)
    result = merge(*queues)
    numbers = cursors(result)
    assert numbers == sorted(set(numbers))
    assert history.parse(result.history or b"").problems == ()
    if result.cursor is not None:
        reached = history.parse_cursor(result.cursor)
        assert reached is not None
        assert reached >= max([0, *numbers, *cursors(ours), *cursors(theirs)])


@THOROUGH
@given(three_queues(), st.integers(1, 6))
def test_a_dream_under_way_while_a_merge_is_installed_skips_nothing(
    queues: tuple[Queue, Queue, Queue], size: int
) -> None:
    base, ours, theirs = queues
    assume(ours not in (base, theirs) and theirs != base)
    mine = history.parse(ours.history or b"")
    batch = history.after(mine, history.parse_cursor(ours.dream_cursor) or 0)[:size]
    assume(batch)
    result = merge(base, ours, theirs)
    mark = history.parse_cursor(result.dream_cursor) or 0
    known = {
        (entry.timestamp, entry.content, entry.session_key)
        for entry in mine.entries
        if entry.cursor <= batch[-1].cursor
    }
    for entry in history.after(history.parse(result.history or b""), mark):
        if entry.cursor <= batch[-1].cursor:
            assert (entry.timestamp, entry.content, entry.session_key) in known


def told(numbered: list[tuple[int, str]], dreamed: int = 0, top: int | None = None) -> Queue:
    lines = [
        {"cursor": cursor, "timestamp": "2026-03-01 10:00", "content": text} for cursor, text in numbered
    ]
    last = max([0, *(cursor for cursor, _ in numbered)]) if top is None else top
    return Queue(file_of(*lines), b"%d" % last, b"%d" % dreamed)


def entries_of(queue: Queue) -> list[tuple[int, str]]:
    return [(entry.cursor, entry.content) for entry in history.parse(queue.history or b"").entries]


def test_entries_of_both_machines_that_took_the_same_number_are_both_there_with_numbers_of_their_own() -> (
    None
):
    base = told([(1, "a")], dreamed=1)
    result = merge(base, told([(1, "a"), (2, "b")], 1), told([(1, "a"), (2, "c")], 1))
    assert [cursor for cursor, _ in entries_of(result)] == [1, 3, 4]
    assert sorted(text for _, text in entries_of(result)) == ["a", "b", "c"]
    assert (result.cursor, result.dream_cursor) == (b"4", b"1")


def test_entries_dropped_by_a_compaction_stay_dropped() -> None:
    base = told([(1, "a"), (2, "b")], dreamed=2)
    result = merge(base, told([(2, "b")], 2), told([(1, "a"), (2, "b"), (3, "c")], 2))
    assert entries_of(result) == [(2, "b"), (4, "c")]


def test_what_one_machine_dreamed_is_not_dreamed_again_and_what_none_did_is_not_skipped() -> None:
    base = told([(1, "a"), (2, "b")])
    result = merge(base, told([(1, "a"), (2, "b")], 2), told([(1, "a"), (2, "b"), (3, "c")], 1))
    assert entries_of(result) == [(1, "a"), (2, "b"), (4, "c")]
    assert result.dream_cursor == b"2"


def test_a_cursor_that_was_set_back_to_dream_again_is_set_back_for_all() -> None:
    base = told([(1, "a"), (2, "b")], dreamed=2)
    result = merge(base, told([(1, "a"), (2, "b")], 0), told([(1, "a"), (2, "b"), (3, "c")], 2))
    assert result.dream_cursor == b"0"


def test_an_unreadable_cursor_counts_as_it_was() -> None:
    base = told([(1, "a"), (2, "b")], dreamed=2)
    ours = told([(1, "a"), (2, "b"), (3, "c")], 2)._replace(dream_cursor=b"")
    result = merge(base, ours, told([(1, "a"), (2, "b"), (3, "d")], 2))
    assert result.dream_cursor == b"2"


def test_two_dreams_of_the_same_entries_are_told() -> None:
    base = told([(1, "a"), (2, "b"), (3, "c")])
    both = told([(1, "a"), (2, "b"), (3, "c")], 2), told([(1, "a"), (2, "b"), (3, "c")], 1)
    assert merge_queue("h", base, *both)[1] == (Conflict("h", ConflictKind.DREAM, None, ("1",)),)


def test_lines_that_are_no_entries_stay_behind_the_entry_they_followed() -> None:
    base = Queue(b'{"cursor": 1, "timestamp": "t", "content": "a"}\nodd\n', b"1", b"1")
    more = b'{"cursor": 2, "timestamp": "t", "content": "%s"}\n'
    ours, theirs = (
        base._replace(history=(base.history or b"") + more % text, cursor=b"2") for text in (b"x", b"y")
    )
    assert [line[:20] for line in (merge(base, ours, theirs).history or b"").split(b"\n")] == [
        b'{"cursor": 1, "times', b"odd", b'{"cursor": 3, "times', b'{"cursor": 4, "times', b"",
    ]  # fmt: skip
