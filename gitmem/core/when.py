"""WHEN in words: the moment or commit a person means. Words become values; `actions/inspect` looks them up.

    WHEN     = "before " WHEN | POINT SUFFIX*
    SUFFIX   = "~" [N]              the Nth first parent
             | "^" [N]              the Nth parent (2 and up: of a merge)
    POINT    = "HEAD" | "@" | branch, tag or ref name | commit id, 4 to 40 hex digits
             | ["the"] ("last" | "latest") KIND [("of" | "in") SESSION-KEY]
             | DAY | DAY ["at"] CLOCK | CLOCK [DAY] | SPAN ["ago"] | "last" UNIT | "now" | "@" unix seconds
    KIND     = dream, session, consolidation, compaction, edit, replay, deletion, revert, ... or "commit"
    DAY      = "today" | "yesterday" | ["last"] weekday | YYYY-MM-DD
    CLOCK    = "noon" | "midnight" | HH:MM[:SS] ["Z" | +HH:MM] | 9am | 9:30pm
    SPAN     = (N UNIT)+            as in `2h`, `3 days`, `1 week 2 days`, `2.weeks`
    UNIT     = s, m, h, d, w, month, y and their long forms

A day names all its seconds: `--since` takes the first, everything else the last ("as it was when that day
was over"). A weekday is the last one before today; a clock time alone is the last time it was that late.
`before` a commit is its first parent, `before` a moment is the second before it.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from typing import TypeAlias

from gitmem.core.model import Kind
from gitmem.errors import UsageError


@dataclass(frozen=True, slots=True)
class ById:
    """A commit whose name starts with these 4 to 40 hex digits (or a ref that happens to be called so)."""

    prefix: str


@dataclass(frozen=True, slots=True)
class ByName:
    """HEAD, a branch, a tag or another ref, as git would find it."""

    name: str


@dataclass(frozen=True, slots=True)
class ByTime:
    """Seconds since 1970, both included; equal for a moment, a whole day for a date."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ByKind:
    """The newest commit of some kinds (none named: of any kind), of one session where a key is given."""

    kinds: frozenset[Kind]
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Parent:
    """The parent with this number, from 1, of another point; 0 is the point itself."""

    of: "When"
    number: int


When: TypeAlias = ById | ByName | ByTime | ByKind | Parent

UNDERSTOOD = (
    "Understood: a commit id, HEAD~3, a branch, 2026-01-31, '2026-01-31 14:00', '2h ago', yesterday, "
    "'noon yesterday', monday, 'last week', 'last dream', 'last session of KEY', and 'before' any of them."
)
"""What to tell a person whose words were not understood."""

_STEPS = 100_000
"""More steps back than this are a typing error."""
_SUFFIX = re.compile(r"(?P<base>.*?)(?P<steps>(?:[~^][0-9]{0,6})*)", re.DOTALL)
_STEP = re.compile(r"([~^])([0-9]*)")
_ID = re.compile(r"[0-9a-fA-F]{4,40}")
_NOT_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[./-]|[./]$")
_KIND = re.compile(
    r"(?:the )?(?:last|latest) (?P<noun>[a-z]+)(?: commit)?(?: (?:of|in) (?P<key>\S.*))?", re.IGNORECASE
)
_NOUNS: dict[str, frozenset[Kind]] = {
    **{str(kind): frozenset({kind}) for kind in Kind if kind is not Kind.CHECKPOINT},
    "commit": frozenset(),
    "change": frozenset(),
    "consolidation": frozenset({Kind.CONSOLIDATE}),
    "compaction": frozenset({Kind.COMPACT}),
    "deletion": frozenset({Kind.DELETE, Kind.FORGET}),
    "migration": frozenset({Kind.MIGRATE}),
}


def parse(words: str, now: datetime) -> When:
    """What the words mean.

    Args:
        words: As typed; case and extra blanks do not matter, except in names and session keys.
        now: The present, aware of its zone; the words are read in that zone.

    Raises:
        UsageError: They mean nothing; the hint lists what is understood.
    """
    text = " ".join(words.split())
    befores = 0
    while text[:7].lower() == "before ":
        text, befores = text[7:], befores + 1
    match = _SUFFIX.fullmatch(text)
    base, steps = (match["base"], match["steps"]) if match else (text, "")
    found = _point(base, now)
    if found is None:
        raise UsageError(f"{words!r} is not a time or a commit that gitmem understands", UNDERSTOOD)
    for sign, digits in _STEP.findall(steps):
        found = _back(found, sign, int(digits or 1))
    for _ in range(befores):
        found = ByTime(found.first - 1, found.first - 1) if isinstance(found, ByTime) else Parent(found, 1)
    return found


def _back(point: When, sign: str, number: int) -> When:
    if sign == "^":
        return Parent(point, number)
    if number > _STEPS:
        raise UsageError(f"~{number} goes further back than any history", UNDERSTOOD)
    for _ in range(number):
        point = Parent(point, 1)
    return point


def _point(text: str, now: datetime) -> When | None:
    try:
        moment = _moment(text.lower(), now)
    except (OverflowError, ValueError, OSError) as error:
        raise UsageError(f"{text!r} is not a possible time ({error})", UNDERSTOOD) from None
    if moment is not None:
        return moment
    if (match := _KIND.fullmatch(text)) and match["noun"].lower() in _NOUNS:
        return ByKind(_NOUNS[match["noun"].lower()], match["key"])
    if text in ("@", "HEAD", "head"):
        return ByName("HEAD")
    if _ID.fullmatch(text):
        return ById(text.lower())
    return ByName(text) if text and not _NOT_IN_REFS.search(text) else None


_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("w", "week", "weeks"), timedelta(weeks=1)),
}
_MONTHS = {"mo": 1, "month": 1, "months": 1, "y": 12, "yr": 12, "year": 12, "years": 12}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_NUMBERS |= {"eight": 8, "nine": 9, "ten": 10}
_PART = re.compile(rf"(?P<number>[0-9]{{1,9}}|(?:{'|'.join(_NUMBERS)})\b)[ .]?(?P<unit>[a-z]+)[ ,.]*")
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"noon|midnight|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)? ?(?:am|pm)?|[0-9]{1,2} ?(?:am|pm)"
_DAY = rf"today|yesterday|(?:last )?[a-z]{{3,9}}|{_DATE}"
_CLOCK_FIRST = re.compile(rf"(?P<clock>{_CLOCK})(?: (?P<day>{_DAY}))?")
_DAY_FIRST = re.compile(
    rf"(?P<day>{_DAY})(?:(?: at |t| )(?P<clock>{_CLOCK}) ?(?P<zone>z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
)


def _moment(text: str, now: datetime) -> ByTime | None:
    """A time or a day; None when the words speak of neither.

    Raises:
        ValueError: It looks like one but does not exist (2026-02-30).
        OverflowError: It is before the year 1.
    """
    if text == "now":
        return _at(now)
    if re.fullmatch(r"@[0-9]{1,11}", text):
        return ByTime(int(text[1:]), int(text[1:]))
    if (match := _CLOCK_FIRST.fullmatch(text)) or (match := _DAY_FIRST.fullmatch(text)):
        found = _on_a_day(match.groupdict(), now)
        if found is not None:
            return found
    return _span_ago(text, now)


def _at(moment: datetime) -> ByTime:
    second = int(moment.timestamp())
    return ByTime(second, second)


def _on_a_day(parts: dict[str, str | None], now: datetime) -> ByTime | None:
    day = None if parts["day"] is None else _day(parts["day"], now.date())
    if day is None and parts["day"] is not None:
        return None
    if parts["clock"] is None:
        return None if day is None else _whole(day, now)
    clock = _clock(parts["clock"])
    zone = parts.get("zone")
    if day is not None and zone:
        return _at(datetime.fromisoformat(f"{day}T{clock.isoformat()}{zone.upper()}"))
    moment = datetime.combine(day or now.date(), clock, now.tzinfo)
    return _at(moment if day is not None or moment <= now else moment - timedelta(days=1))


def _whole(day: date, now: datetime) -> ByTime:
    first = datetime.combine(day, clock_time(), now.tzinfo)
    following = datetime.combine(day + timedelta(days=1), clock_time(), now.tzinfo)
    return ByTime(int(first.timestamp()), int(following.timestamp()) - 1)


def _day(text: str, today: date) -> date | None:
    if text in ("today", "yesterday"):
        return today - timedelta(days=text == "yesterday")
    if text[0].isdigit():
        return date.fromisoformat(text)
    name = text.removeprefix("last ")
    for number, weekday in enumerate(_WEEKDAYS):
        if len(name) >= 3 and weekday.startswith(name):
            return today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    return None


def _clock(text: str) -> clock_time:
    if text in ("noon", "midnight"):
        return clock_time(12 if text == "noon" else 0)
    half = text[-2:] if text[-1] == "m" else ""
    hour, *rest = text.removesuffix(half).strip().split(":")
    number = int(hour)
    if half:
        if not 1 <= number <= 12:
            raise ValueError("an hour with am or pm is 1 to 12")
        number = number % 12 + (12 if half == "pm" else 0)
    return clock_time.fromisoformat(":".join((f"{number:02}", *(rest or ["00"]))))


def _span_ago(text: str, now: datetime) -> ByTime | None:
    """`2h ago`, `1 week 2 days`, `last month`: that long before now, to the second."""
    span = text.removesuffix("ago").rstrip(" .")
    span = f"1 {span.removeprefix('last ')}" if span.startswith("last ") else span
    back, months, at = timedelta(), 0, 0
    while at < len(span):
        part = _PART.match(span, at)
        if part is None or part["unit"] not in {**_UNITS, **_MONTHS}:
            return None
        number = _NUMBERS.get(part["number"]) or int(part["number"])
        if part["unit"] in _MONTHS:
            months += number * _MONTHS[part["unit"]]
        else:
            back += number * _UNITS[part["unit"]]
        at = part.end()
    if not span:
        return None
    second = int(_months_back(now, months).timestamp() - back.total_seconds())
    return ByTime(second, second)


def _months_back(now: datetime, months: int) -> datetime:
    """The same day of an earlier month, or that month's last."""
    if months == 0:
        return now
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    for day in range(now.day, now.day - 4, -1):
        try:
            return now.replace(year=year, month=month + 1, day=day)
        except ValueError:
            if year < 1:
                raise
    raise ValueError("no such day")
