from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.quiet import QuietWindow

QUIET, LIMIT = 0.25, 4.0  # powers of two: sums of times stay exact


def window() -> QuietWindow:
    return QuietWindow(QUIET, LIMIT)


def test_nothing_held_is_never_due() -> None:
    assert window().due is None
    assert window().take(1e9) is None


def test_a_batch_closes_after_a_quiet_time() -> None:
    held = window()
    held.add("SOUL.md", 10.0)
    assert held.due == 10.25
    assert held.take(10.2) is None
    batch = held.take(10.25)
    assert batch is not None
    assert batch.first_seen == {"SOUL.md": 10.0}
    assert held.due is None


def test_every_change_prolongs_the_quiet_time_and_the_first_one_counts_as_seen() -> None:
    held = window()
    for at in (10.0, 10.125, 10.25):
        held.add("SOUL.md", at)
        held.add("USER.md", at)
    assert held.due == 10.5
    batch = held.take(10.5)
    assert batch is not None
    assert batch.first_seen == {"SOUL.md": 10.0, "USER.md": 10.0}


def test_a_writer_that_never_rests_cannot_starve_the_others() -> None:
    held = window()
    held.add("SOUL.md", 0.0)
    for step in range(1, 64):
        held.add("notes.md", step / 8)
    assert held.due == LIMIT


def test_a_told_event_closes_the_batch_at_once() -> None:
    held = window()
    held.add("SOUL.md", 10.0)
    held.notify(10.0)
    assert held.take(10.0) is not None
    held.add("USER.md", 11.0)
    assert held.take(11.0) is None, "a word counts for one batch"


def test_a_told_event_with_nothing_held_does_not_close_the_next_batch_early() -> None:
    held = window()
    held.notify(1.0)
    held.add("SOUL.md", 1.0)
    assert held.take(1.0) is None


def test_what_is_put_back_waits_one_quiet_time_and_keeps_its_age() -> None:
    held = window()
    held.add("sessions/a.jsonl", 0.0)
    assert held.take(1.0) is not None
    held.put_back("sessions/a.jsonl", 0.0, 1.0)
    assert held.due == 1.25
    batch = held.take(1.25)
    assert batch is not None
    assert batch.first_seen == {"sessions/a.jsonl": 0.0}


def test_an_old_path_put_back_does_not_spin_and_is_not_pushed_aside_by_a_chatty_writer() -> None:
    held = window()
    held.put_back("sessions/a.jsonl", 0.0, 100.0)
    for step in range(16):
        held.add("notes.md", 100.0 + step / 8)
    assert held.due == 100.25


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "put back", "tell"]), st.sampled_from("abc"), st.integers(0, 40)),
        max_size=40,
    )
)
def test_no_change_is_lost_and_none_waits_longer_than_the_limit(steps: list[tuple[str, str, int]]) -> None:
    held = window()
    now = 0.0
    waiting: dict[str, float] = {}
    for what, path, ticks in steps:
        now += ticks / 8
        batch = held.take(now)
        if batch is not None:
            assert batch.first_seen == waiting
            waiting = {}
        if what == "add":
            held.add(path, now)
            waiting.setdefault(path, now)
        elif what == "put back":
            held.put_back(path, now - 1, now)
            waiting[path] = min(now - 1, waiting.get(path, now))
        else:
            held.notify(now)
        assert (held.due is None) == (not waiting)
        if held.due is not None:
            assert held.due <= max(min(waiting.values()) + LIMIT, now + QUIET)
