"""Undoing one commit alone: exact when nothing came after, later work kept, refused as a whole where it cannot be clean."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.conversation import is_legal
from gitmem.core.merge.inverse import Undone, inverse
from gitmem.core.model import MODE_EXECUTABLE, File
from gitmem.core.paths import classify_path
from gitmem.core.session import parse
from tests.core.conversations import file_of
from tests.core.merge.versions import THOROUGH, three

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


def test_a_call_that_loses_its_archived_result_is_archived_no_longer() -> None:
    """P7, found by the simulator: what is archived in part counts as new for a merge, so it has to be new for its own machine."""

    def told(*results: str, archived: int) -> bytes:
        head = {"_type": "metadata", "key": "cli:direct", "last_consolidated": archived}
        call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}]}
        answers = [{"role": "tool", "tool_call_id": "c1", "content": text} for text in results]
        return file_of(head, {"role": "user", "content": "q"}, call, *answers)

    undone = result(SESSION, told(archived=0), told("done", archived=0), told("done", archived=3))
    assert undone == told(archived=1)


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


@THOROUGH
@given(PATHS, TEXTS, TEXTS)
def test_undoing_the_newest_commit_gives_what_was_before(path: str, before: bytes, commit: bytes) -> None:
    assert result(path, before, commit, commit) == before


@THOROUGH
@given(PATHS, st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_no_bytes_raise(path: str, before: bytes, commit: bytes, now: bytes) -> None:
    undo(path, before, commit, now)


def test_a_fact_that_moved_since_goes_from_where_it_is_now() -> None:
    before, commit = facts("a", "c", "d", "e"), facts("a", "b", "c", "d", "e")
    assert result(MEMORY, before, commit, facts("a", "c", "d", "e", "b", "f")) == facts(
        "a", "c", "d", "e", "f"
    )


def test_of_equal_facts_in_two_sections_the_right_one_goes() -> None:
    before = b"# Tea\n- none\n\n# Cake\n- plum\n"
    commit = b"# Tea\n- none\n\n# Cake\n- plum\n- none\n"
    assert result(MEMORY, before, commit, commit + b"- cherry\n") == before + b"- cherry\n"
    first = b"# Tea\n\n# Cake\n- none\n"
    both = b"# Tea\n- none\n\n# Cake\n- none\n"
    assert result(MEMORY, first, both, both + b"- cherry\n") == first + b"- cherry\n"


def test_changes_to_different_lines_of_a_block_do_not_clash() -> None:
    before, commit = b"```\na = 1\n\nb = 2\n```\n", b"```\na = 3\n\nb = 2\n```\n"
    assert result(MEMORY, before, commit, b"```\na = 3\n\nb = 4\n```\n") == b"```\na = 1\n\nb = 4\n```\n"


def test_a_replaced_fact_that_was_removed_since_is_refused() -> None:
    assert undo(MEMORY, facts("tea"), facts("coffee"), facts("cake")).conflicts
    assert undo(MEMORY, facts("x", "tea"), facts("x", "coffee"), facts("x")).conflicts


def test_what_was_undone_by_hand_needs_no_undoing() -> None:
    assert undo(MEMORY, facts("tea", "x"), facts("coffee", "x"), facts("tea", "x", "cake")) == Undone({})


def test_a_session_that_was_deleted_and_begun_anew_gets_its_messages_back() -> None:
    old, new = chat(("user", "1"), ("assistant", "2")), chat(("user", "3"))
    done = result(SESSION, old, None, new)
    assert done is not None
    assert [message["content"] for message in parse(done).messages] == ["1", "2", "3"]


def test_a_session_whose_only_messages_go_is_removed() -> None:
    commit = chat(("user", "1"))
    assert result(SESSION, None, commit, commit.replace(b"cli:direct", b"cli:other")) is None


def entry(cursor: int, content: str, **more: object) -> bytes:
    return (
        json.dumps({"cursor": cursor, "timestamp": "2026-01-01 00:00", "content": content, **more}).encode()
        + b"\n"
    )


def test_an_entry_goes_whatever_its_number_is_now() -> None:
    before, commit = entry(1, "a"), entry(1, "a") + entry(2, "b")
    now = entry(1, "a") + entry(2, "other machine") + entry(3, "b")
    assert result(HISTORY, before, commit, now) == entry(1, "a") + entry(2, "other machine")


def test_dropped_entries_return_with_their_numbers() -> None:
    before = entry(1, "a") + entry(2, "b") + entry(3, "c")
    assert result(HISTORY, before, entry(3, "c"), entry(3, "c") + entry(4, "d")) == before + entry(4, "d")


def test_an_entry_never_returns_under_a_number_that_is_in_use() -> None:
    assert undo(
        HISTORY, entry(1, "a") + entry(2, "b"), entry(1, "a"), entry(1, "a") + entry(2, "c")
    ).conflicts


def test_a_field_of_an_entry_is_undone_alone() -> None:
    before, commit = entry(1, "a"), entry(1, "a", pinned=True)
    now = entry(1, "a", pinned=True, mark=1) + entry(2, "b")
    assert result(HISTORY, before, commit, now) == entry(1, "a", mark=1) + entry(2, "b")


def test_messages_that_were_archived_and_dropped_since_cannot_be_unarchived() -> None:
    messages = [("user", "1"), ("user", "2"), ("user", "3")]
    assert undo(SESSION, chat(*messages), chat(*messages, archived=2), chat(messages[2])).conflicts


def test_one_refused_file_keeps_all_as_they_are() -> None:
    files = [{MEMORY: File(facts("a")), "notes.txt": File(text)} for text in (b"1\n", b"2\n", b"3\n")]
    undone = inverse(
        classify_path, before=files[0], commit={**files[1], MEMORY: File(facts("b"))}, now=files[2]
    )
    assert undone.files == {}
    assert [told.path for told in undone.conflicts] == ["notes.txt"]


WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=3), unique=True, max_size=8)


@THOROUGH
@given(st.data(), st.sampled_from([SESSION, HISTORY, MEMORY]))
def test_without_the_commit_all_that_was_before_and_all_that_came_later_is_there(
    data: st.DataObject, path: str
) -> None:
    make = {SESSION: spoken, HISTORY: remembered, MEMORY: listed}[path]
    before, commit, _ = data.draw(three(st.lists(st.sampled_from("abcd"), max_size=5)))
    now = list(commit)
    for word in "xyz"[: data.draw(st.integers(0, 3))]:
        now.insert(data.draw(st.integers(0, len(now))), word)
    done = result(path, make(before), make(commit), make(now))
    left = [text[0] for text in re.findall(rb'(?:content": "|- )([a-z])', done or b"")]
    words = [chr(code) for code in left]
    assert [word for word in words if word in "abcd"] == before
    assert sorted(word for word in words if word in "xyz") == sorted(word for word in now if word in "xyz")


def spoken(words: list[str]) -> bytes:
    return chat(*(("user", word) for word in words))


def remembered(words: list[str]) -> bytes:
    return b"".join(json.dumps({"content": word}).encode() + b"\n" for word in words)


def listed(words: list[str]) -> bytes:
    return facts(*words)


@THOROUGH
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
