"""When the engine runs by itself. Time is an argument."""

from datetime import datetime, time, timedelta

_SOON = 600.0
"""Seconds before a first new try when the model could not be asked."""
_LONGEST = 86_400.0
_UNREACHABLE = frozenset({"offline", "timeout", "rate-limit", "server"})


def wait_after_failure(every: float, failures: int, reason: str | None) -> float:
    """Seconds to wait after a run that failed, ever longer, a day at most (case B88).

    Args:
        every: Seconds between two runs that go well.
        failures: Runs in a row that failed.
        reason: Why the last one did.

    Returns:
        Soon for a network that may come back, twice the usual time and more for what needs a person or a better model.
    """
    doublings = float(1 << min(max(failures - 1, 0), 10))
    if reason in _UNREACHABLE:
        return min(_SOON * doublings, max(every, _SOON))
    return min(every * 2 * doublings, max(every, _LONGEST))


def quiet_until(hours: str, now: datetime) -> datetime | None:
    """The end of the quiet hours that a moment lies in; None when it lies in none.

    Args:
        hours: As in `22:00-07:00`, local time; empty for none.
        now: The moment, in the same zone.
    """
    if not hours:
        return None
    begin, end = (time.fromisoformat(text) for text in hours.split("-"))
    for day in (now - timedelta(days=1), now):
        start = datetime.combine(day.date(), begin, now.tzinfo)
        stop = datetime.combine(day.date(), end, now.tzinfo)
        if stop <= start:
            stop += timedelta(days=1)
        if start <= now < stop:
            return stop
    return None
