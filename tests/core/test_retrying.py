"""How long a model is waited for: what it asks, within reason, and never for ever."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.retrying import LONGEST, TRIES, pause, seconds_asked

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "header", ["-5", "soon", "", "  ", None, "nan", "inf", "-inf", "1e999", "Wed, 99 Jan"]
)
def test_b87_a_header_that_means_nothing_asks_for_nothing(header: str | None) -> None:
    assert seconds_asked(header, 0.0) is None


@pytest.mark.parametrize(
    ("header", "seconds"), [("2", 2), (" 2 ", 2), ("0", 0), ("1.5", 1.5), ("999999", 999_999)]
)
def test_b87_seconds_are_understood(header: str, seconds: float) -> None:
    assert seconds_asked(header, NOW.timestamp()) == seconds


@given(st.integers(0, 400_000))
def test_b87_dates_are_understood_as_seconds_from_now(seconds: int) -> None:
    header = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert seconds_asked(header, NOW.timestamp()) == seconds


def test_b87_a_date_that_is_over_asks_for_nothing() -> None:
    assert seconds_asked(format_datetime(NOW, usegmt=True), NOW.timestamp() + 1) is None


def test_a_date_without_a_zone_is_utc() -> None:
    assert seconds_asked("Mon, 05 Jan 2026 12:00:07 -0000", NOW.timestamp()) == 7


@pytest.mark.parametrize(
    "header",
    [
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2031 00:00:00 +999999999999",
        "Mon, 01 Jan 2031 99:99:99 GMT",
        "9" * 5000,
    ],
)
def test_numbers_beyond_every_range_ask_for_nothing(header: str) -> None:
    assert seconds_asked(header, 0.0) is None


@given(
    st.text(max_size=40) | st.from_regex(r"[MTWF][a-z]{2}, \d{1,3} Jan \d{1,30} \d\d:\d\d:\d\d [+-]\d{1,12}")
)
def test_any_header_asks_for_some_seconds_or_for_nothing(header: str) -> None:
    seconds = seconds_asked(header, NOW.timestamp())
    assert seconds is None or 0 <= seconds < float("inf")


@given(st.integers(1, 50), st.none() | st.floats(0, 1e9), st.floats(0, 1))
def test_no_pause_is_longer_than_five_minutes(tried: int, asked: float | None, chance: float) -> None:
    assert 0 <= pause(tried, asked, chance) <= LONGEST


@given(st.floats(0, 1), st.floats(0, 1))
def test_our_own_pauses_grow(chance: float, other: float) -> None:
    assert pause(1, None, chance) < pause(2, None, other) < pause(3, None, chance)


def test_b87_what_a_server_asks_for_is_waited_for_exactly() -> None:
    assert pause(1, 2.0, 1.0) == 2
    assert pause(3, 0.0, 1.0) == 0


def test_b87_all_tries_together_take_minutes_not_hours() -> None:
    assert sum(pause(tried, 1e9, 1.0) for tried in range(1, TRIES)) <= 15 * 60
