"""The clock and the zone of this machine, for words like `yesterday` and for showing times."""

import calendar
import time
from datetime import datetime, timedelta, tzinfo


class LocalZone(tzinfo):
    """The machine's zone, summer time included: each date has its own season's offset."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """How far east of UTC a local time is."""
        return None if moment is None else timedelta(seconds=_local(moment).tm_gmtoff)

    def dst(self, moment: datetime | None) -> timedelta | None:
        """Not told apart from the offset."""
        return None if moment is None else timedelta(0)

    def tzname(self, moment: datetime | None) -> str | None:
        """The zone's name at that time, as in `CET`."""
        return None if moment is None else _local(moment).tm_zone

    def fromutc(self, moment: datetime) -> datetime:
        """The local time of a time given in UTC."""
        fields = time.localtime(calendar.timegm(moment.timetuple()))
        return moment + timedelta(seconds=fields.tm_gmtoff)


def _local(moment: datetime) -> time.struct_time:
    """The system's idea of a local time: it finds out whether it is in summer time."""
    year, month, day, hour, minute, second, weekday, yearday, _ = moment.timetuple()
    return time.localtime(time.mktime((year, month, day, hour, minute, second, weekday, yearday, -1)))


def now() -> datetime:
    """The present, aware of the machine's zone."""
    return at(time.time())


def at(seconds: float) -> datetime:
    """Unix seconds as a local time."""
    return datetime.fromtimestamp(seconds, LocalZone())
