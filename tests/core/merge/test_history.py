"""The history queue of two machines: every entry once, dreamed exactly where somebody dreamed it, numbers never used twice."""

from hypothesis import assume, given
from hypothesis import strategies as st

from gitmem.core import history, jsonl
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
    return theirs if ours == base else merge_queue(base, ours, theirs)


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
