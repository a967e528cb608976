import json

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import session, sessiondelta
from gitmem.core.model import Change, File
from gitmem.core.sessiondelta import SessionDelta, session_delta
from tests.core.conversations import (
    Json,
    assistant,
    conversations,
    file_of,
    loose_messages,
    metadata,
    tool,
    user,
)

PATH = "sessions/cli_direct.jsonl"


def compare(old: bytes | None, new: bytes | None) -> SessionDelta:
    return session_delta(Change(PATH, None if old is None else File(old), None if new is None else File(new)))


def talk(*texts: str) -> list[Json]:
    return [user(text) if place % 2 == 0 else assistant(text) for place, text in enumerate(texts)]


def test_a_save_that_appends_tells_what_came() -> None:
    old = talk("a", "b")
    delta = compare(file_of(metadata(), *old), file_of(metadata(), *old, *talk("c", "d")))
    assert delta.added == tuple(talk("c", "d"))
    assert (delta.removed, delta.edited, delta.before, delta.after) == ((), 0, 2, 4)
    assert not delta.shrank


def test_a_new_and_a_removed_session() -> None:
    data = file_of(metadata(), *talk("a", "b"))
    assert (compare(None, data).exists, compare(None, data).after) == ((False, True), 2)
    assert (compare(data, None).exists, compare(data, None).before) == ((True, False), 2)
    assert not compare(data, None).shrank, "a removed file is no compaction"


def test_dropping_the_oldest_is_shrinking_with_and_without_new_ones() -> None:
    old = talk(*"abcdef")
    for come in ([], talk("x", "y")):
        delta = compare(file_of(metadata(), *old), file_of(metadata(), *old[4:], *come))
        assert delta.shrank
        assert delta.removed == tuple(old[:4])
        assert delta.added == tuple(come)


def test_dropping_from_the_middle_or_the_end_is_not_shrinking_by_design() -> None:
    old = talk(*"abcdef")
    for kept in (old[:3] + old[4:], old[:4]):
        delta = compare(file_of(metadata(), *old), file_of(metadata(), *kept))
        assert delta.removed
        assert not delta.shrank


def test_equal_messages_are_told_apart_by_their_place() -> None:
    old = talk("yes", "ok", "yes", "ok")
    delta = compare(file_of(metadata(), *old), file_of(metadata(), *old[2:]))
    assert delta.shrank
    assert (delta.before, delta.after) == (4, 2)


def test_the_same_records_written_in_another_style_are_no_change() -> None:
    messages = talk("a", "é", "c")
    other = b"".join(
        json.dumps(record, separators=(",", ":"), sort_keys=True).encode() + b"\r\n"
        for record in (metadata(), *messages)
    )
    delta = compare(file_of(metadata(), *messages), other)
    assert (delta.added, delta.removed, delta.edited) == ((), (), 0)


def test_a_message_changed_in_its_place_is_an_edit() -> None:
    old = [user("q"), assistant(None, "c1"), tool("c1", "long"), assistant("done")]
    new = [user("q"), assistant(None, "c1"), tool("c1", "cut"), assistant("done"), user("more")]
    delta = compare(file_of(metadata(), *old), file_of(metadata(), *new))
    assert (delta.edited, delta.added, delta.removed) == (1, (user("more"),), ())


def test_another_conversation_in_the_same_file_is_no_edit() -> None:
    delta = compare(file_of(metadata(), *talk(*"abcd")), file_of(metadata(), *talk("x", "y")))
    assert (delta.edited, len(delta.added), len(delta.removed)) == (0, 2, 4)


def test_what_newly_counts_as_archived_is_told_in_old_numbers() -> None:
    old = talk(*"abcdefgh")
    cases = [
        (metadata(mark=0), old, metadata(mark=6), old, (0, 6)),
        (metadata(mark=2), old, metadata(mark=2), old, (2, 2)),
        (
            metadata(mark=0),
            old,
            metadata(mark=0),
            old[4:],
            (0, 4),
        ),  # dropped without a mark: idle compaction of 0.2
        (metadata(mark=4), old, metadata(mark=2), old[2:], (4, 4)),  # archived before, dropped now
        (metadata(mark=2), old, metadata(mark=4), old[2:], (2, 6)),
        (metadata(mark=6), old, metadata(mark=0), old, (6, 6)),
    ]
    for before, messages, after, kept, expected in cases:
        assert compare(file_of(before, *messages), file_of(after, *kept)).newly_archived == expected


def test_a_mark_out_of_range_counts_as_none() -> None:
    for mark in (99, -1, True, "3", None):
        data = file_of({**metadata(), "last_consolidated": mark}, *talk("a", "b"))
        assert compare(None, data).archived == (0, 0)


def test_metadata_changes_are_named_and_times_are_none() -> None:
    old = file_of(metadata(), *talk("a"))
    assert compare(old, file_of(metadata(title="Trip"), *talk("a"))).title == "Trip"
    assert compare(old, file_of(metadata(goal_state={}, x=1), *talk("a"))).metadata == ("goal_state", "x")
    touched = {**metadata(), "updated_at": "2026-03-02T00:00:00"}
    assert compare(old, file_of(touched, *talk("a"))).metadata == ()
    assert compare(old, file_of({**metadata(), "last_archived": 3}, *talk("a"))).metadata == (
        "last_archived",
    )


def test_the_key_is_the_files_stem_where_no_metadata_names_it() -> None:
    assert compare(None, file_of(*talk("a"))).key == "cli_direct"
    assert compare(None, file_of({**metadata(), "key": 5}, *talk("a"))).key == "cli_direct"
    assert compare(file_of(metadata("telegram:42")), None).key == "telegram:42"


def test_a_damaged_line_counts_as_a_message_that_says_nothing() -> None:
    old = file_of(metadata(), *talk("a"))
    assert compare(old, old + b"{half").added == ({},)


@given(conversations, conversations)
def test_any_two_conversations_are_told_apart_and_added_up(one: list[Json], other: list[Json]) -> None:
    delta = compare(file_of(metadata(), *one), file_of(metadata(), *other))
    assert delta.before + len(delta.added) - len(delta.removed) == delta.after
    same = compare(file_of(metadata(), *one), file_of(metadata(), *one))
    assert (same.added, same.removed, same.edited) == ((), (), 0)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 3))
def test_the_quick_look_at_usual_saves_tells_what_the_close_one_tells(drop: int, keep: int, add: int) -> None:
    messages = talk(*(f"text {number}" for number in range(drop + keep + add)))
    old = file_of(metadata(mark=1), *messages[: drop + keep])
    new = file_of(metadata(title="t"), *messages[drop:])
    quick = sessiondelta._by_bytes(old, new)
    assert quick in (None, sessiondelta._by_lines(old, new))
    assert (quick is not None) == bool(keep)


@given(loose_messages, st.integers(0, 8), loose_messages)
def test_a_dropped_start_is_always_recognised(old: list[Json], count: int, come: list[Json]) -> None:
    kept = old[count:]
    delta = compare(file_of(metadata(), *old), file_of(metadata(), *kept, *come))
    assert delta.before == len(old)
    assert delta.after == len(kept) + len(come)
    if not come and kept and count and len({json.dumps(message) for message in old}) == len(old):
        assert delta.shrank


@given(st.binary(max_size=120), st.binary(max_size=120))
def test_any_bytes_are_compared(old: bytes, new: bytes) -> None:
    delta = compare(old, new)
    assert delta.before + len(delta.added) - len(delta.removed) == delta.after


@given(conversations)
def test_messages_are_counted_as_the_session_counts_them(messages: list[Json]) -> None:
    data = file_of(metadata(mark=1), *messages)
    parsed = session.parse(data)
    delta = compare(None, data)
    assert (delta.after, delta.archived[1]) == (len(parsed.messages), parsed.last_consolidated)
