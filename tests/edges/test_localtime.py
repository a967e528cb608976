import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from gitmem.core.when import ByTime, parse
from gitmem.edges import localtime
from gitmem.edges.localtime import LocalZone

SUMMER = datetime(2026, 7, 1, 12, tzinfo=LocalZone())
WINTER = datetime(2026, 1, 1, 12, tzinfo=LocalZone())


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine stands where clocks go forward in March and back in October."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def test_each_date_has_the_offset_of_its_season() -> None:
    assert WINTER.utcoffset() == timedelta(hours=1)
    assert SUMMER.utcoffset() == timedelta(hours=2)
    assert (SUMMER.tzname(), WINTER.tzname()) == ("CEST", "CET")


def test_seconds_become_local_time_and_back() -> None:
    for moment in (SUMMER, WINTER):
        assert localtime.at(moment.timestamp()).isoformat() == moment.isoformat()
    assert localtime.at(1_767_600_000).isoformat() == "2026-01-05T09:00:00+01:00"


def test_the_present_is_aware_of_the_zone() -> None:
    assert localtime.now().utcoffset() in {timedelta(hours=1), timedelta(hours=2)}


def test_a_day_on_which_the_clock_goes_forward_has_23_hours() -> None:
    day = parse("2026-03-29", SUMMER)
    assert isinstance(day, ByTime)
    assert day.last + 1 - day.first == 23 * 3600
