"""Session files: nothing hidden, nothing lost, nothing changed that nobody changed."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import jsonl, session
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

PRIVATE = {"_type": "provider_state", "state": {"opaque": "AAAA=="}}
records = st.lists(
    st.one_of(
        st.sampled_from([metadata(), metadata(mark=1, title="t"), PRIVATE, {"_type": 5}, {"_type": None}]),
        st.sampled_from([user("x"), assistant(None, "a"), tool("a"), {"odd": 1e-7}]),
    ).map(jsonl.dump)
    | st.sampled_from([b"", b"\0\0", b"=======", b"{", b"\xff", b'{"role":"user" , "n":1e-7}\r'])
)
files = (
    records.map(b"\n".join) | records.map(lambda raws: b"".join(raw + b"\n" for raw in raws)) | st.binary()
)


@given(files)
def test_any_bytes_are_a_session_and_saving_it_keeps_every_message(data: bytes) -> None:
    loaded = session.parse(data)
    assert 0 <= loaded.last_consolidated <= len(loaded.messages)
    assert session.render(loaded) == data or loaded.problems or data.count(b'"metadata"') > 0
    saved = session.render(replace(loaded, metadata={**loaded.metadata, "touched": True}))
    again = session.parse(saved)
    assert [jsonl.identity(m) for m in again.messages] == [jsonl.identity(m) for m in loaded.messages]
    assert again.last_consolidated == loaded.last_consolidated
    assert [jsonl.identity(m) for m in again.opaque] == [jsonl.identity(m) for m in loaded.opaque]
    assert session.render(again) == saved
    for line in jsonl.parse(data).records:
        if line.value is not None and line.value.get("_type") is None:
            assert line.record in saved


@given(conversations, conversations)
def test_messages_added_to_a_file_come_behind_its_untouched_lines(old: list[Json], new: list[Json]) -> None:
    data = file_of(metadata(), PRIVATE, *old)
    loaded = session.parse(data)
    saved = session.render(replace(loaded, messages=(*loaded.messages, *new)))
    assert saved == data + file_of(*new)


@given(loose_messages, st.data())
def test_messages_taken_out_leave_the_others_in_order(messages: list[Json], data: st.DataObject) -> None:
    loaded = session.parse(file_of(metadata(), *messages, PRIVATE))
    kept = [m for m in loaded.messages if data.draw(st.booleans())]
    saved = session.render(replace(loaded, messages=tuple(kept)))
    assert saved == file_of(metadata(), *(dict(m) for m in kept), PRIVATE)


def test_a_session_can_be_made_from_nothing() -> None:
    made = session.Session(metadata={"key": "cli:x"}, messages=(user("é"),))
    assert session.render(made).splitlines()[1] == jsonl.dump(user("é"))
    loaded = session.parse(session.render(made))
    assert (loaded.key, loaded.last_consolidated, loaded.problems) == ("cli:x", 0, ())
    assert session.render(session.Session()) == file_of(
        {"_type": "metadata", "metadata": {}, "last_consolidated": 0}
    )


@pytest.mark.parametrize("mark", [5, 999, -1, "2", True, False, 2.0, None, [2], {}, 10**30])
def test_b07_an_invalid_archive_mark_counts_as_nothing_archived(mark: Any) -> None:
    messages = [user("q1"), assistant("a1"), user("q2"), assistant("a2")]
    data = file_of({**metadata(), "last_consolidated": mark}, *messages)
    loaded = session.parse(data)
    assert len(session.unarchived(loaded)) == 4
    assert len(loaded.problems) == 1
    later = session.parse(session.render(replace(loaded, messages=(*loaded.messages, user("q3")))))
    assert len(session.unarchived(later)) == 5
    assert not later.problems


@pytest.mark.parametrize("mark", [0, 2, 4])
def test_b07_a_valid_archive_mark_is_kept(mark: int) -> None:
    messages = [user("q1"), assistant("a1"), user("q2"), assistant("a2")]
    loaded = session.parse(file_of(metadata(mark=mark), *messages))
    assert (loaded.last_consolidated, loaded.problems) == (mark, ())
    assert list(session.unarchived(loaded)) == messages[mark:]


def test_b07_a_later_metadata_line_wins_and_one_is_written_back() -> None:
    first, second = metadata(title="old"), metadata(mark=2, title="new")
    del second["key"]
    data = file_of(first, user("q1"), assistant("a1"), second, user("q2"))
    loaded = session.parse(data)
    assert (loaded.key, loaded.state, loaded.last_consolidated) == ("cli:direct", {"title": "new"}, 2)
    saved = session.render(loaded)
    assert saved.count(b'"_type"') == 1
    assert saved.startswith(b'{"_type": "metadata"')
    assert session.parse(saved).messages == loaded.messages
    assert session.render(session.parse(saved)) == saved


def test_b07_metadata_at_the_end_is_metadata() -> None:
    loaded = session.parse(file_of(user("q1"), assistant("a1"), metadata(mark=2)))
    assert session.unarchived(loaded) == ()
    assert session.render(loaded) == file_of(metadata(mark=2), user("q1"), assistant("a1"))


def test_b07_a_metadata_field_that_is_no_object_is_reported() -> None:
    loaded = session.parse(
        file_of({"_type": "metadata", "metadata": "oops", "last_consolidated": 0}, user("q"))
    )
    assert (loaded.state, len(loaded.messages), len(loaded.problems)) == ({}, 1, 1)


def test_an_archive_mark_that_changes_is_the_only_change() -> None:
    line = b'{"_type":"metadata","x":1e-7,"metadata":{},"last_consolidated":0}\n'
    raw = line + b'{"role":"user"}\n{"role":"user"}\n'
    loaded = session.parse(raw)
    assert session.render(replace(loaded, last_consolidated=2)) == raw.replace(b'dated":0', b'dated":2')


def test_the_file_cap_drops_the_oldest_and_moves_the_archive_mark() -> None:
    messages = [user("1"), assistant("1"), user("2"), assistant("2"), user("3"), assistant("3")]
    loaded = session.parse(file_of(metadata(mark=3), *messages))
    cut = session.trimmed(loaded, 5)
    assert list(cut.messages) == messages[2:]
    assert cut.last_consolidated == 1
    assert session.trimmed(cut, 2).last_consolidated == 0
    assert session.render(cut) == file_of(metadata(mark=1), *messages[2:])


def test_b71_saving_what_was_loaded_changes_nothing() -> None:
    odd = (
        b'{"key":"cli:a","_type":"metadata", "metadata":{"n":1.50},"last_consolidated":1}\r\n'
        b'{"content":"caf\\u00e9","role":"user"}\n\n'
        + jsonl.dump(PRIVATE)
        + b'\n{"role":"assistant","content":"x"}'
    )
    assert session.render(session.parse(odd)) == odd


def test_records_that_are_neither_messages_nor_metadata_keep_their_place() -> None:
    data = file_of(metadata(), PRIVATE, user("a"), {"_type": "note"}, assistant("b"))
    loaded = session.parse(data)
    assert loaded.opaque == (PRIVATE, {"_type": "note"})
    assert session.render(replace(loaded, messages=(*loaded.messages, user("c")))) == data + file_of(
        user("c")
    )
    fewer = session.render(replace(loaded, opaque=loaded.opaque[1:]))
    assert fewer == file_of(metadata(), user("a"), {"_type": "note"}, assistant("b"))


def test_a_damaged_line_stays_where_it_was_when_the_file_is_saved() -> None:
    data = file_of(metadata(), user("a")) + b'{"role": "assist\n\0\0\n' + file_of(user("b"))
    loaded = session.parse(data)
    assert len(loaded.problems) == 2
    saved = session.render(replace(loaded, messages=(*loaded.messages, user("c"))))
    assert saved == file_of(metadata(), user("a")) + b'{"role": "assist\n' + file_of(user("b"), user("c"))


def test_a_new_message_never_fuses_with_a_torn_one() -> None:
    torn = b'{"role": "assistant", "conte'
    loaded = session.parse(file_of(metadata(), user("a")) + torn)
    assert loaded.torn
    saved = session.render(replace(loaded, messages=(*loaded.messages, user("b"))))
    assert saved == file_of(metadata(), user("a")) + torn + b"\n" + file_of(user("b"))


def test_a_mark_between_conflict_markers_counts_as_nothing_archived() -> None:
    lines = [
        b"<<<<<<< HEAD",
        jsonl.dump(metadata(mark=2)),
        b"=======",
        jsonl.dump(metadata(mark=1)),
        b">>>>>>> 20cf",
    ]
    data = b"".join(line + b"\n" for line in lines) + file_of(user("x"), assistant("y"))
    loaded = session.parse(data)
    assert loaded.last_consolidated == 0
    assert session.render(loaded) == file_of(metadata(), user("x"), assistant("y"))
