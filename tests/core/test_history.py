"""History and cursors: numbers rise strictly, records never fuse, nothing unread is dropped."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import history, jsonl


def line(cursor: Any, content: Any = "text", timestamp: Any = "2026-03-01 10:00", **more: Any) -> bytes:
    return jsonl.dump({"cursor": cursor, "timestamp": timestamp, "content": content, **more}) + b"\n"


def cursors(data: bytes) -> list[int]:
    return [entry.cursor for entry in history.parse(data).entries]


def file_of(numbers: Iterable[int]) -> bytes:
    return b"".join(line(number, f"piece {number}") for number in numbers)


pieces = st.lists(
    st.one_of(
        st.integers(-2, 30).map(line),
        st.sampled_from(
            [
                b'{"cursor": 9, "time',
                b"\0\0",
                b"\n",
                b"=======\n",
                b"[]\n",
                b"\xff\n",
                line("4"),
                line(3)[:-1],
            ]
        ),
        st.binary(max_size=5),
    )
)
files = pieces.map(b"".join)


@given(files)
def test_any_bytes_are_a_history(data: bytes) -> None:
    parsed = history.parse(data)
    assert all(entry.cursor <= parsed.greatest_cursor for entry in parsed.entries)
    assert parsed.torn == jsonl.is_torn(data)


@given(
    files,
    st.none() | st.integers(0, 50).map(lambda n: b"%d" % n),
    st.lists(st.text(), min_size=1, max_size=4),
)
def test_entries_are_appended_with_rising_numbers_and_never_fuse(
    data: bytes, cursor_file: bytes | None, contents: list[str]
) -> None:
    grown = data
    for content in contents:
        cursor = history.next_cursor(grown, cursor_file)
        assert cursor > max([*cursors(grown), 0 if cursor_file is None else int(cursor_file)])
        before = grown
        grown = history.append(grown, cursor, "2026-03-01 10:00", content, "cli:x")
        cursor_file = b"%d" % cursor
        assert grown.startswith(before)
    added = history.parse(grown).entries[-len(contents) :]
    assert [entry.content for entry in added] == contents
    assert all(one.cursor < other.cursor for one, other in pairwise(added))
    assert [e.content for e in history.parse(grown).entries] == [
        *(e.content for e in history.parse(data).entries),
        *contents,
    ]


@given(files, st.integers(0, 30), st.integers(0, 10))
def test_compaction_drops_only_processed_entries_and_keeps_the_other_lines(
    data: bytes, dream_cursor: int, keep: int
) -> None:
    compacted = history.compact(data, dream_cursor, keep)
    before, after = history.parse(data).entries, history.parse(compacted).entries
    remaining = list(after)
    for entry in before:
        if remaining and entry.raw == remaining[0].raw:
            remaining.pop(0)
        else:
            assert entry.cursor <= dream_cursor
    assert not remaining
    assert len(after) >= min(keep, len(before))
    assert history.compact(compacted, dream_cursor, keep) == compacted
    damaged = [item.raw for item in jsonl.parse(data).lines if item.value is None and item.problem]
    assert all(raw in compacted for raw in damaged)


@given(files)
def test_repair_gives_strictly_rising_numbers_and_loses_no_entry(data: bytes) -> None:
    repaired = history.repaired(data)
    numbers = cursors(repaired)
    assert all(one < other for one, other in pairwise(numbers))
    assert sorted(e.content for e in history.parse(repaired).entries) == sorted(
        e.content for e in history.parse(data).entries
    )
    assert history.repaired(repaired) == repaired


def test_b01_only_entries_with_a_number_and_text_count_but_every_number_is_used_up() -> None:
    no_cursor = jsonl.dump({"timestamp": "t", "content": "no cursor"}) + b"\n"
    odd = [line("2026-04-10T09:00:00"), line(True), line(2.5), line(None), line(-3), line("4"), no_cursor]
    data = b"".join([line(1, "tea"), *odd, line(5, "Oslo"), line(6, ["no", "text"], 1767600000)])
    parsed = history.parse(data)
    assert [entry.content for entry in history.after(parsed, 0)] == ["tea", "Oslo"]
    assert [problem.split(":")[0] for problem in parsed.problems] == [
        f"line {n}" for n in (2, 3, 4, 5, 6, 7, 8, 10)
    ]
    assert history.next_cursor(data, None) == 7
    assert history.compact(data, 99, 0) == data.replace(line(1, "tea"), b"").replace(line(5, "Oslo"), b"")


def test_b03_entries_never_processed_are_never_dropped() -> None:
    data = file_of(range(1, 61))
    assert cursors(history.compact(data, dream_cursor=5, keep=20)) == list(range(6, 61))
    assert cursors(history.compact(data, dream_cursor=60, keep=20)) == list(range(41, 61))
    assert history.compact(data, dream_cursor=0, keep=20) == data


def test_b14_nul_bytes_cost_no_entry_and_nothing_glues_to_them() -> None:
    data = file_of([1, 2]) + b"\0" * 64 + line(3)
    parsed = history.parse(data)
    assert [entry.cursor for entry in parsed.entries] == [1, 2, 3]
    assert parsed.problems == ("line 3: 64 NUL bytes",)
    tail = file_of([1]) + b"\0" * 64
    grown = history.append(tail, history.next_cursor(tail, None), "t", "x")
    assert grown == tail + b"\n" + line(2, "x", "t")


def test_b16_the_number_of_a_torn_entry_is_not_used_again() -> None:
    data = line(1) + b'{"cursor": 2, "timestamp": "20'
    assert history.parse(data).torn
    assert history.next_cursor(data, None) == 3
    assert cursors(history.append(data, 3, "t", "x")) == [1, 3]


def test_b74_both_sides_of_a_committed_conflict_are_read_and_renumbered_by_repair() -> None:
    theirs = line(2, "theirs", vector=[1e-7])
    conflict = [b"<<<<<<< HEAD\n", line(2, "ours"), b"=======\n", theirs, b">>>>>>> 20cf7d7 (sync)\n"]
    data = b"".join([line(1, "a"), *conflict, line(3, "c")])
    assert [entry.content for entry in history.parse(data).entries] == ["a", "ours", "theirs", "c"]
    repaired = history.repaired(data)
    assert [(e.cursor, e.content) for e in history.parse(repaired).entries] == [
        (1, "a"),
        (2, "ours"),
        (3, "c"),
        (4, "theirs"),
    ]
    assert not history.parse(repaired).problems


def test_repair_changes_nothing_where_nothing_is_wrong() -> None:
    data = line(1) + b"garbage\n\n" + line(7) + b'{"cursor": 8, "tor'
    assert history.repaired(data) == data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"2\r\n", 2),
        (b"\xef\xbb\xbf17\n", 17),
        (b" 0 ", 0),
        (b"9" * 40, int("9" * 40)),
        (None, None),
        (b"", None),
        (b"\n", None),
        (b"-1", None),
        (b"1.0", None),
        (b"1_0", None),
        ("\uff11".encode(), None),
        (b"1\x002", None),
        (b"9" * 5000, None),
    ],
)
def test_a_cursor_file_is_a_number_or_nothing(data: bytes | None, expected: int | None) -> None:
    assert history.parse_cursor(data) == expected


def test_content_too_long_for_an_entry_is_capped() -> None:
    entry = history.parse(history.append(b"", 1, "t", "x" * 64_001)).entries[0]
    assert len(entry.content) == 64_000


def test_entries_look_like_those_of_the_agent() -> None:
    expected = (
        b'{"cursor": 1, "timestamp": "2026-03-01 10:00", "content": "caf\xc3\xa9", "session_key": "cli:a"}'
    )
    assert history.record(1, "2026-03-01 10:00", "café", "cli:a") == expected
