"""When the engine works by itself, and how long a model is waited for."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.retrying import LONGEST, pause, seconds_asked
from gitmem.core.schedule import quiet_until, wait_after_failure


@pytest.mark.parametrize(
    ("hours", "now", "end"),
    [
        ("", "12:00", None),
        ("22:00-07:00", "21:59", None),
        ("22:00-07:00", "22:00", "2026-01-06 07:00"),
        ("22:00-07:00", "06:59", "2026-01-05 07:00"),
        ("22:00-07:00", "07:00", None),
        ("12:00-13:30", "12:30", "2026-01-05 13:30"),
        ("00:00-23:59", "10:00", "2026-01-05 23:59"),
    ],
)
def test_quiet_hours_end_when_they_say(hours: str, now: str, end: str | None) -> None:
    moment = datetime.fromisoformat(f"2026-01-05T{now}:00+00:00")
    found = quiet_until(hours, moment)
    assert (None if found is None else f"{found:%Y-%m-%d %H:%M}") == end


def test_b88_failures_make_tries_rarer_up_to_a_day() -> None:
    waits = [wait_after_failure(3600, failures, "refused") for failures in range(1, 12)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (7200, 86_400)


def test_a_network_that_may_come_back_is_tried_soon() -> None:
    assert wait_after_failure(7200, 1, "offline") == 600
    assert wait_after_failure(7200, 9, "offline") == 7200


@pytest.mark.parametrize("header", ["-5", "soon", "", None, "nan", "inf", "Wed, 99 Jan"])
def test_b87_a_retry_after_that_means_nothing_asks_for_nothing(header: str | None) -> None:
    assert seconds_asked(header, 0.0) is None


def test_b87_dates_and_seconds_are_understood() -> None:
    now = datetime(2026, 1, 5, tzinfo=UTC)
    assert seconds_asked("2", now.timestamp()) == 2
    assert seconds_asked(format_datetime(now.replace(minute=1), usegmt=True), now.timestamp()) == 60


@given(st.integers(1, 50), st.none() | st.floats(0, 1e9), st.floats(0, 1))
def test_no_pause_is_longer_than_five_minutes(tried: int, asked: float | None, chance: float) -> None:
    assert 0 <= pause(tried, asked, chance) <= LONGEST
