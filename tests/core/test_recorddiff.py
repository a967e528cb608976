import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.model import MODE_SYMLINK, Change, File
from gitmem.core.recorddiff import describe, is_readable, readable

PATH = "sessions/telegram_42.jsonl"
HEADER = f"diff --git a/{PATH} b/{PATH}\n"


def session(*messages: dict[str, Any], **metadata: Any) -> bytes:
    first = {"_type": "metadata", "key": "telegram:42", "last_consolidated": 0, "metadata": {}, **metadata}
    return b"".join(json.dumps(record).encode() + b"\n" for record in (first, *messages))


def shown(old: bytes | None, new: bytes | None, context: int = 3) -> str:
    change = Change(PATH, None if old is None else File(old), None if new is None else File(new))
    return readable(change, context).removeprefix(HEADER)


ASKED = {"role": "user", "content": "when does the train leave?"}
CALLED = {
    "role": "assistant",
    "content": "Let me look.",
    "tool_calls": [{"id": "c1", "function": {"name": "timetable", "arguments": '{"from": "Delft"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "name": "timetable", "content": "10:32\n11:02"}


def test_new_messages_are_one_line_each() -> None:
    assert shown(session(ASKED), session(ASKED, CALLED, RESULT, updated_at="b")) == (
        '~ metadata   updated_at: none -> "b"\n'
        "@@ line 2 @@\n"
        '  user       "when does the train leave?"\n'
        '+ assistant  "Let me look." calls timetable({"from": "Delft"})\n'
        '+ tool       timetable: "10:32\\n11:02"\n'
    )


def test_metadata_is_told_as_what_became_of_it() -> None:
    old = session(metadata={"title": "Trip"}, updated_at="a")
    new = session(metadata={"title": "Trip to Lisbon"}, updated_at="b", last_consolidated=40)
    assert (
        shown(old, new)
        == '~ metadata   last_consolidated: 0 -> 40, metadata.title: "Trip" -> "Trip to Lisbon"\n'
    )


def test_a_change_in_a_field_that_is_not_shown_is_still_seen() -> None:
    text = shown(session({**ASKED, "latency_ms": 5}), session({**ASKED, "latency_ms": 7}))
    assert text.endswith('~ user       "when does the train leave?"  (latency_ms: 5 -> 7)\n')


def test_a_record_that_is_only_spelled_differently_is_said_to_be_the_same() -> None:
    text = shown(b'{"role": "user", "content": "x"}\n', b'{"role":"user","content":"x"}\n')
    assert text.endswith('~ user       "x"  (the same, written differently)\n')


def test_long_messages_are_cut_and_their_length_told() -> None:
    text = describe(json.dumps({"role": "user", "content": "x" * 5000}).encode())
    assert text.endswith('x"... (5,000 characters)')
    assert len(text) < 250


def test_history_entries_show_cursor_time_and_session() -> None:
    line = json.dumps(
        {"cursor": 17, "timestamp": "2026-03-04 10:00", "content": "hi", "session_key": "cli:direct"}
    )
    assert describe(line.encode()) == '#17        2026-03-04 10:00 [cli:direct] "hi"'


def test_blocks_other_records_and_damage_have_their_line_too() -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:..."}}, 5]
    assert describe(json.dumps({"role": "user", "content": blocks}).encode()).endswith(
        '"see" [image_url] [block]'
    )
    assert describe(b'{"_type": "provider_state", "id": 3}') == 'provider_state {"id": 3}'
    assert describe(b'{"role": "us') == 'unreadable {"role": "us'
    assert describe(b'{"role": "assistant", "content": null, "tool_calls": [4]}') == "assistant  calls ?"
    assert describe(b'{"role": "assistant", "content": "", "tool_calls": [4]}') == "assistant  calls ?"
    assert describe(b'{"role": "assistant", "content": ""}') == 'assistant  ""'
    assert describe(b'{"note": 1}') == 'record     {"note": 1}'


def test_new_and_removed_sessions_show_every_record() -> None:
    assert shown(None, session(ASKED)).count("\n+ ") == 2
    assert shown(session(ASKED), None).count("\n- ") == 2


def test_messages_cannot_command_a_terminal() -> None:
    text = shown(None, b'{"role": "user\\u001b[2J", "content": "\x1b[2J"}\n')
    assert "\x1b" not in text


def test_only_json_lines_files_are_read_this_way() -> None:
    assert is_readable(Change(PATH, None, File(b"")))
    assert not is_readable(Change("USER.md", None, File(b"")))
    assert not is_readable(Change(PATH, None, File(b"elsewhere", MODE_SYMLINK)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "_type", "cursor", "function"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
LINES = st.lists(JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=12), max_size=6)


@given(LINES, LINES)
def test_whatever_the_lines_they_can_be_shown(old: list[bytes], new: list[bytes]) -> None:
    text = shown(b"\n".join(old), b"\n".join(new))
    assert text.encode().decode() == text
    assert bool(text) == (b"\n".join(old) != b"\n".join(new)) or not old or not new
