"""How long to wait before a model is asked again (case B87). The clock and chance are arguments."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

TRIES = 4
"""Requests for one answer, the first included."""
LONGEST = 300.0
"""Seconds: no server makes us wait longer."""
_FIRST = 1.0


def seconds_asked(header: str | None, now: float) -> float | None:
    """What a Retry-After header asks for: seconds or a date (RFC 9110, section 10.2.3).

    Args:
        header: The header's value; None where there was none.
        now: Unix seconds.

    Returns:
        Seconds from now; None for no header and for one that means nothing.
    """
    text = (header or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text, now)
    return seconds if 0 <= seconds < float("inf") else None


def _until(text: str, now: float) -> float:
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return -1.0
    aware = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return (aware - datetime.fromtimestamp(now, UTC)).total_seconds()


def pause(tried: int, asked: float | None, chance: float) -> float:
    """Seconds to wait after a try that failed.

    Args:
        tried: Tries so far, from 1.
        asked: What the server asked for; None for nothing.
        chance: 0 to 1; stretches a wait of our own by up to a half, so that several machines do not come back together.
    """
    own = _FIRST * 2 ** min(tried - 1, 10) * (1 + chance / 2)
    return min(own if asked is None else asked, LONGEST)
