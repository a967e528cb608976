"""When the engine works by itself."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.schedule import quiet_until, wait_after_failure

DAY = 86_400


@pytest.mark.parametrize(
    ("hours", "now", "end"),
    [
        ("", "12:00", None),
        ("22:00-07:00", "21:59", None),
        ("22:00-07:00", "22:00", "2026-01-06 07:00"),
        ("22:00-07:00", "23:59", "2026-01-06 07:00"),
        ("22:00-07:00", "00:00", "2026-01-05 07:00"),
        ("22:00-07:00", "06:59", "2026-01-05 07:00"),
        ("22:00-07:00", "07:00", None),
        ("12:00-13:30", "12:30", "2026-01-05 13:30"),
        ("12:00-13:30", "13:30", None),
        ("00:00-23:59", "10:00", "2026-01-05 23:59"),
        ("00:00-00:00", "10:00", "2026-01-06 00:00"),
        ("18:00-00:00", "18:00", "2026-01-06 00:00"),
    ],
)
def test_quiet_hours_end_when_they_say(hours: str, now: str, end: str | None) -> None:
    moment = datetime.fromisoformat(f"2026-01-05T{now}:00+00:00")
    found = quiet_until(hours, moment)
    assert (None if found is None else f"{found:%Y-%m-%d %H:%M}") == end


minutes = st.integers(0, 1439).map(lambda n: time(n // 60, n % 60))
moments = st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1))  # noqa: DTZ001  local time has no zone here


@given(minutes, minutes, moments, st.sampled_from([None, UTC]))
def test_quiet_hours_cover_the_same_times_of_every_day_over_midnight_too(
    begin: time, end: time, now: datetime, zone: object
) -> None:
    now = now.replace(tzinfo=UTC) if zone else now
    found = quiet_until(f"{begin:%H:%M}-{end:%H:%M}", now)
    at = now.time()
    quiet = begin <= at < end if begin < end else (at >= begin or at < end)
    assert (found is not None) == quiet
    if found is not None:
        assert found.tzinfo is now.tzinfo
        assert found.time() == end
        assert timedelta(0) < found - now <= timedelta(days=1)
        assert quiet_until(f"{begin:%H:%M}-{end:%H:%M}", found) is None or begin == end


def test_b88_failures_make_tries_rarer_up_to_a_day() -> None:
    waits = [wait_after_failure(3600, failures, "refused") for failures in range(1, 12)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (7200, DAY)


@pytest.mark.parametrize("reason", ["offline", "timeout", "rate-limit", "server"])
def test_a_network_that_may_come_back_is_tried_soon(reason: str) -> None:
    assert wait_after_failure(7200, 1, reason) == 600
    assert wait_after_failure(7200, 9, reason) == 7200


@pytest.mark.parametrize("reason", ["auth", "payment", "loop", "guard", None])
def test_what_needs_a_person_is_not_tried_soon(reason: str | None) -> None:
    assert wait_after_failure(7200, 1, reason) == 14_400


@given(st.floats(60, 10 * DAY), st.integers(0, 10**6), st.none() | st.sampled_from(["offline", "loop"]))
def test_b88_a_wait_never_shrinks_and_is_at_most_a_day_or_the_usual_time(
    every: float, failures: int, reason: str | None
) -> None:
    wait = wait_after_failure(every, failures, reason)
    assert 0 < wait <= wait_after_failure(every, failures + 1, reason) <= max(every, DAY)
