"""Undoing one commit alone: exact when nothing came after, later work kept, refused as a whole where it cannot be clean."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.conversation import is_legal
from gitmem.core.merge.inverse import Undone, inverse
from gitmem.core.model import MODE_EXECUTABLE, File
from gitmem.core.paths import classify_path
from gitmem.core.session import parse

MEMORY = "memory/MEMORY.md"
SESSION = "sessions/cli_direct.jsonl"
HISTORY = "memory/history.jsonl"


def undo(path: str, before: bytes | None, commit: bytes | None, now: bytes | None) -> Undone:
    def files(data: bytes | None) -> dict[str, File]:
        return {} if data is None else {path: File(data)}

    return inverse(classify_path, before=files(before), commit=files(commit), now=files(now))


def result(path: str, before: bytes | None, commit: bytes | None, now: bytes | None) -> bytes | None:
    undone = undo(path, before, commit, now)
    assert undone.conflicts == ()
    if path not in undone.files:
        return now
    file = undone.files[path]
    return None if file is None else file.data


def facts(*lines: str) -> bytes:
    return ("# Memory\n" + "".join(f"- {line}\n" for line in lines)).encode()


def chat(*messages: tuple[str, str], archived: int = 0, **state: object) -> bytes:
    head = {"_type": "metadata", "key": "cli:direct", "metadata": state, "last_consolidated": archived}
    lines: list[object] = [head, *({"role": role, "content": text} for role, text in messages)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_an_added_fact_goes_and_later_facts_stay() -> None:
    assert result(MEMORY, facts("a"), facts("a", "b"), facts("a", "b", "c")) == facts("a", "c")


def test_facts_next_to_each_other_do_not_stand_in_each_others_way() -> None:
    assert result(MEMORY, facts("a", "c"), facts("a", "b", "c"), facts("a2", "b", "c2")) == facts("a2", "c2")


def test_a_removed_fact_returns_to_its_place() -> None:
    assert result(MEMORY, facts("a", "b", "c"), facts("a", "c"), facts("a", "c", "d")) == facts(
        "a", "b", "c", "d"
    )


def test_a_fact_edited_since_is_refused_with_both_texts_shown() -> None:
    undone = undo(MEMORY, facts("a"), facts("a", "b"), facts("a", "b, corrected"))
    assert undone.files == {}
    text = str(undone.conflicts[0])
    assert "- b, corrected" in text
    assert MEMORY in text


def test_a_fact_removed_since_needs_no_undoing() -> None:
    assert result(MEMORY, facts("a"), facts("a", "b"), facts("a")) == facts("a")


def test_an_added_file_goes_and_a_removed_one_returns() -> None:
    assert undo(MEMORY, None, facts("a"), facts("a")).files == {MEMORY: None}
    assert undo(MEMORY, facts("a"), None, None).files == {MEMORY: File(facts("a"))}


def test_a_removed_file_made_anew_since_is_refused() -> None:
    assert undo(MEMORY, facts("a"), None, facts("b")).conflicts


def test_the_mode_returns_too() -> None:
    path = "skills/a/run.sh"
    undone = inverse(
        classify_path,
        before={path: File(b"x\n")},
        commit={path: File(b"x\n", MODE_EXECUTABLE)},
        now={path: File(b"x\ny\n", MODE_EXECUTABLE)},
    )
    assert undone.files == {path: File(b"x\ny\n")}


def test_messages_go_and_later_ones_stay() -> None:
    one, two, three = ("user", "1"), ("user", "2"), ("user", "3")
    assert result(SESSION, chat(one), chat(one, two), chat(one, two, three)) == chat(one, three)


def test_undoing_a_consolidation_unarchives_the_messages_and_drops_the_entry() -> None:
    messages = [("user", "1"), ("assistant", "2"), ("user", "3")]
    assert result(
        SESSION, chat(*messages), chat(*messages, archived=2), chat(*messages, ("user", "4"), archived=2)
    ) == chat(*messages, ("user", "4"))
    entry = b'{"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "x"}\n'
    later = b'{"cursor": 2, "timestamp": "2026-01-01 00:00", "content": "y"}\n'
    assert result(HISTORY, b"", entry, entry + later) == later


def test_a_consolidation_under_a_later_one_is_refused() -> None:
    messages = [("user", "1"), ("user", "2"), ("user", "3")]
    assert undo(SESSION, chat(*messages), chat(*messages, archived=1), chat(*messages, archived=3)).conflicts


def test_the_archived_count_follows_messages_that_go() -> None:
    one, two, three = ("user", "1"), ("user", "2"), ("user", "3")
    assert result(SESSION, chat(one), chat(one, two), chat(one, two, three, archived=2)) == chat(
        one, three, archived=1
    )


def test_b25_an_equal_message_of_a_later_turn_is_not_taken() -> None:
    yes = ("user", "yes")
    done = result(SESSION, chat(yes), chat(yes, yes), chat(yes, yes, ("assistant", "ok"), yes))
    assert done is not None
    assert [message["content"] for message in parse(done).messages] == ["yes", "ok", "yes"]


def test_tool_calls_and_results_are_not_torn_apart() -> None:
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "A", "type": "function", "function": {"name": "f"}}],
    }
    answer = {"role": "tool", "tool_call_id": "A", "content": "r"}
    base = chat(("user", "1"))
    asked = base + json.dumps(call).encode() + b"\n"
    answered = asked + json.dumps(answer).encode() + b"\n"
    assert undo(SESSION, base, asked, answered).conflicts


def test_metadata_changed_again_since_stays() -> None:
    one = ("user", "1")
    assert result(SESSION, chat(one, title="a"), chat(one, title="b"), chat(one, title="c")) == chat(
        one, title="c"
    )
    assert result(SESSION, chat(one), chat(one, title="b"), chat(one, title="b", goal="g")) == chat(
        one, goal="g"
    )


def test_cursors_never_go_back() -> None:
    for path in ("memory/.cursor", "memory/.dream_cursor"):
        assert undo(path, b"1", b"2", b"2").files == {}


def test_b18_lines_end_at_lf_only() -> None:
    before = "- a\u2028still a\n".encode()
    assert result(MEMORY, before, before + b"- b\n", before + b"- b\n- c\n") == before + b"- c\n"


def test_a_binary_file_changed_since_is_refused() -> None:
    path = "skills/a/x.bin"
    assert undo(path, b"\0a", b"\0b", b"\0c").conflicts
    assert undo(path, b"\0a", b"\0b", b"\0b").files == {path: File(b"\0a")}


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", ""]), max_size=6).map(
    lambda lines: "\n".join(lines).encode()
)
PATHS = st.sampled_from([MEMORY, SESSION, HISTORY, "notes.txt"])


@given(PATHS, TEXTS, TEXTS)
def test_undoing_the_newest_commit_gives_what_was_before(path: str, before: bytes, commit: bytes) -> None:
    assert result(path, before, commit, commit) == before


@given(PATHS, st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_no_bytes_raise(path: str, before: bytes, commit: bytes, now: bytes) -> None:
    undo(path, before, commit, now)


WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=3), unique=True, max_size=8)


@given(WORDS, st.data())
def test_later_additions_are_kept_and_nothing_is_invented(words: list[str], data: st.DataObject) -> None:
    before = [w for w in words if data.draw(st.booleans())]
    commit = [w for w in words if data.draw(st.booleans())]
    later = [w for word in commit for w in (word, *([f"{word}-later"] if data.draw(st.booleans()) else []))]
    done = result(MEMORY, facts(*before), facts(*commit), facts(*later))
    assert done is not None
    left = done.decode().split("\n")[1:-1]
    assert sorted(left) == sorted(f"- {w}" for w in {*before} | {w for w in later if w.endswith("-later")})


@given(st.lists(st.sampled_from(["user", "assistant"]), max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_a_legal_session_stays_legal(roles: list[str], first: int, second: int) -> None:
    messages = [(role, str(number)) for number, role in enumerate(roles)]
    first, second = sorted((min(first, len(messages)), min(second, len(messages))))
    done = result(SESSION, chat(*messages[:first]), chat(*messages[:second]), chat(*messages))
    assert done is not None
    assert is_legal(parse(done).messages)
    assert len(parse(done).messages) == len(messages) - (second - first)


@pytest.mark.parametrize("path", [SESSION, HISTORY])
def test_b69_unknown_fields_survive_digit_for_digit(path: str) -> None:
    line = b'{"role": "user",  "content": "x", "big": 123456789012345678901234567890, "f": 1e-7}\n'
    later = b'{"role":"user","content":"y","odd":[1.0,  2]}\n'
    assert result(path, b"", line, line + later) == later
