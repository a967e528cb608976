from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.model import Kind
from gitmem.core.when import ById, ByKind, ByName, ByTime, Parent, When, parse
from gitmem.errors import UsageError

ZONE = timezone(timedelta(hours=8))
NOW = datetime(2026, 3, 4, 15, 30, tzinfo=ZONE)
"""A Wednesday."""


def moment(text: str) -> ByTime:
    second = int(datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp())
    return ByTime(second, second)


def day(text: str) -> ByTime:
    first = int(datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp())
    return ByTime(first, first + 86399)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("HEAD", ByName("HEAD")),
        ("@", ByName("HEAD")),
        ("HEAD~3", Parent(Parent(Parent(ByName("HEAD"), 1), 1), 1)),
        ("HEAD~", Parent(ByName("HEAD"), 1)),
        ("HEAD~0", ByName("HEAD")),
        ("HEAD^", Parent(ByName("HEAD"), 1)),
        ("HEAD^2~", Parent(Parent(ByName("HEAD"), 2), 1)),
        ("1a2b3c4d", ById("1a2b3c4d")),
        ("1A2B3C4D^", Parent(ById("1a2b3c4d"), 1)),
        ("f" * 40, ById("f" * 40)),
        ("main", ByName("main")),
        ("backup/main", ByName("backup/main")),
        ("refs/gitmem/inflight/my-host", ByName("refs/gitmem/inflight/my-host")),
        ("abc", ByName("abc")),
        ("last dream", ByKind(frozenset({Kind.DREAM}))),
        ("the last dream", ByKind(frozenset({Kind.DREAM}))),
        ("Last Session", ByKind(frozenset({Kind.SESSION}))),
        ("latest commit", ByKind(frozenset())),
        ("last dream commit", ByKind(frozenset({Kind.DREAM}))),
        ("last consolidation of telegram:42", ByKind(frozenset({Kind.CONSOLIDATE}), "telegram:42")),
        ("last session in cli:Direct Mail", ByKind(frozenset({Kind.SESSION}), "cli:Direct Mail")),
        ("last deletion", ByKind(frozenset({Kind.DELETE, Kind.FORGET}))),
        ("before last dream", Parent(ByKind(frozenset({Kind.DREAM})), 1)),
        ("before the last dream", Parent(ByKind(frozenset({Kind.DREAM})), 1)),
        ("last dream~2", Parent(Parent(ByKind(frozenset({Kind.DREAM})), 1), 1)),
        ("before before HEAD", Parent(Parent(ByName("HEAD"), 1), 1)),
    ],
)
def test_commits_are_named_as_in_git_or_by_what_they_did(words: str, meant: When) -> None:
    assert parse(words, NOW) == meant


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("now", moment("2026-03-04T15:30")),
        ("2h ago", moment("2026-03-04T13:30")),
        ("2 hours ago", moment("2026-03-04T13:30")),
        ("2h", moment("2026-03-04T13:30")),
        ("an hour ago", moment("2026-03-04T14:30")),
        ("1h30m ago", moment("2026-03-04T14:00")),
        ("3 days ago", moment("2026-03-01T15:30")),
        ("3.days.ago", moment("2026-03-01T15:30")),
        ("1 week, 2 days ago", moment("2026-02-23T15:30")),
        ("2.weeks", moment("2026-02-18T15:30")),
        ("last week", moment("2026-02-25T15:30")),
        ("last month", moment("2026-02-04T15:30")),
        ("1 year ago", moment("2025-03-04T15:30")),
        ("100 years ago", moment("1926-03-04T15:30")),
        ("14 months ago", moment("2025-01-04T15:30")),
        ("2026-01-31 14:00", moment("2026-01-31T14:00")),
        ("2026-01-31T14:00:09", moment("2026-01-31T14:00:09")),
        ("2026-01-31 14:00:09.5", moment("2026-01-31T14:00:09")),
        ("2026-01-31T14:00Z", moment("2026-01-31T22:00")),
        ("2026-01-31 14:00 +0100", moment("2026-01-31T21:00")),
        ("2026-01-31T14:00-05:00", moment("2026-02-01T03:00")),
        ("@1767600000", ByTime(1767600000, 1767600000)),
        ("noon yesterday", moment("2026-03-03T12:00")),
        ("yesterday noon", moment("2026-03-03T12:00")),
        ("yesterday at 9:30", moment("2026-03-03T09:30")),
        ("9pm yesterday", moment("2026-03-03T21:00")),
        ("12am today", moment("2026-03-04T00:00")),
        ("monday 9:15am", moment("2026-03-02T09:15")),
        ("noon", moment("2026-03-04T12:00")),
        ("16:00", moment("2026-03-03T16:00")),
        ("midnight", moment("2026-03-04T00:00")),
        ("  2H   AGO ", moment("2026-03-04T13:30")),
        ("before 2h ago", moment("2026-03-04T13:29:59")),
        ("before yesterday", moment("2026-03-02T23:59:59")),
    ],
)
def test_moments_are_read_in_the_zone_of_the_person(words: str, meant: ByTime) -> None:
    assert parse(words, NOW) == meant


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("today", day("2026-03-04")),
        ("yesterday", day("2026-03-03")),
        ("monday", day("2026-03-02")),
        ("Sun", day("2026-03-01")),
        ("wednesday", day("2026-02-25")),
        ("last thursday", day("2026-02-26")),
        ("2026-01-31", day("2026-01-31")),
    ],
)
def test_a_day_is_all_its_seconds(words: str, meant: ByTime) -> None:
    assert parse(words, NOW) == meant


def test_months_back_end_where_the_shorter_month_ends() -> None:
    assert parse("1 month ago", datetime(2026, 3, 31, 8, tzinfo=ZONE)) == moment("2026-02-28T08:00")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "  ",
        "last checkpoint",
        "last nonsense",
        "2 parsecs ago",
        "a b",
        "a..b",
        "-n",
        "x:y",
        "~1",
    ],
)
def test_other_words_are_refused_with_what_is_understood(words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words, NOW)
    assert "last dream" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "words",
    ["2026-02-30", "25:00", "13pm", "99999999 years ago", "999999999 weeks ago", "HEAD~999999", "0pm"],
)
def test_times_and_distances_that_cannot_be_are_refused(words: str) -> None:
    with pytest.raises(UsageError):
        parse(words, NOW)


@given(st.text(max_size=60))
def test_no_words_at_all_make_it_fail_in_another_way(words: str) -> None:
    with suppress(UsageError):
        parse(words, NOW)


@given(
    st.lists(
        st.sampled_from(
            [
                "before",
                "last",
                "dream",
                "of",
                "2h",
                "ago",
                "~",
                "^2",
                "noon",
                "monday",
                "2026-01-01",
                "at",
                "9",
                "am",
            ]
        ),
        max_size=8,
    )
)
def test_no_combination_of_known_words_makes_it_fail_in_another_way(words: list[str]) -> None:
    with suppress(UsageError):
        parse(" ".join(words), NOW)
