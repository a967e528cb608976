"""When a remote is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.backoff import LONGEST, WAITING, Backoff

STATES = ["offline", "auth", "missing", "refused", "diverged", "timeout", "protocol"]


def pauses(state: str, times: int) -> list[float]:
    now, found, backoff = 1000.0, [], Backoff()
    for _ in range(times):
        backoff = backoff.failed(state, now, 0)
        assert backoff.due is not None
        found.append(backoff.due - now)
        now = backoff.due
    return found


@pytest.mark.parametrize("state", ["offline", "timeout", "protocol", "refused"])
def test_the_network_is_tried_again_soon_and_ever_more_seldom(state: str) -> None:
    assert pauses(state, 9) == [5, 10, 20, 40, 80, 160, 320, 600, 600]


@pytest.mark.parametrize("state", ["auth", "missing", "diverged"])
def test_what_needs_a_person_waits_a_quarter_of_an_hour(state: str) -> None:
    assert pauses(state, 3) == [WAITING] * 3


def test_a_change_makes_a_try_due_at_once_without_forgetting_the_trouble() -> None:
    backoff = Backoff().failed("auth", 100, 0.5)
    assert not backoff.ready(101)
    changed = backoff.changed()
    assert changed.ready(101)
    assert (changed.state, changed.since) == ("auth", 100)


def test_b59_two_refusals_are_over_within_a_minute() -> None:
    assert sum(pauses("refused", 2)) < 60 - 10


def test_success_forgets_everything() -> None:
    assert Backoff().failed("offline", 5, 0).succeeded() == Backoff()


def test_the_first_failure_of_a_row_is_remembered() -> None:
    backoff = Backoff().failed("offline", 100, 0).failed("timeout", 105, 0)
    assert (backoff.since, backoff.failures, backoff.state) == (100, 2, "timeout")


@given(st.lists(st.tuples(st.sampled_from(STATES), st.floats(0, 1)), min_size=1, max_size=80))
def test_pauses_stay_within_bounds_whatever_happens(tries: list[tuple[str, float]]) -> None:
    backoff, now = Backoff(), 0.0
    for state, jitter in tries:
        backoff = backoff.failed(state, now, jitter)
        assert backoff.due is not None
        assert 5 <= backoff.due - now <= 1.25 * max(LONGEST, WAITING) + 1e-6
        assert not backoff.ready(now)
        now = backoff.due
        assert backoff.ready(now)
