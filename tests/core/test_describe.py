"""The words of commit messages: what a person reads in a log, whatever outsiders put into keys, names and texts."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import describe, history
from gitmem.core.describe.words import LISTED, count, more, roles, span, spans
from gitmem.core.historydelta import history_delta
from gitmem.core.message import SUBJECT_WIDTH, parse, render
from gitmem.core.model import Change, File, Kind, Message
from gitmem.core.sessiondelta import SessionDelta, session_delta
from tests.core.conversations import Json, assistant, call, file_of, metadata, tool, user

CLI = "sessions/cli_direct.jsonl"


def change(path: str, old: bytes | None, new: bytes | None) -> Change:
    return Change(path, *(None if data is None else File(data) for data in (old, new)))


def delta(old: bytes | None, new: bytes | None, path: str = CLI) -> SessionDelta:
    return session_delta(change(path, old, new))


def entries(*cursors: int, key: str | None = "cli:direct", text: str = "something") -> list[history.Entry]:
    data = b"".join(history.record(cursor, "2026-03-01 10:00", text, key) + b"\n" for cursor in cursors)
    return list(history.parse(data).entries)


# --- words


def test_counts_and_ranges_read_as_a_person_says_them() -> None:
    assert [count(number, "message") for number in (0, 1, 2)] == ["0 messages", "1 message", "2 messages"]
    assert count(2, "entry", "entries") == "2 entries"
    assert (span(3, 3), span(3, 5)) == ("3", "3..5")
    assert spans([19, 14, 15, 16, 15]) == "14..16,19"
    assert spans([]) == ""
    assert more(LISTED) == []
    assert more(LISTED + 2) == ["and 2 more"]


@given(st.sets(st.integers(0, 60)))
def test_ranges_name_every_number_once(numbers: set[int]) -> None:
    told = [
        range(int(low), int(high or low) + 1)
        for low, _, high in (part.partition("..") for part in spans(numbers).split(",") if part)
    ]
    assert [number for run in told for number in run] == sorted(numbers)


def test_roles_are_named_while_few_and_counted_when_many() -> None:
    assert roles([user("a"), assistant("b")]) == "user, assistant"
    assert (
        roles([user("a"), assistant(None, "c"), tool("c"), assistant("b")]) == "1 user, 2 assistant, 1 tool"
    )
    assert roles([{}, {"role": "admin"}, {"role": ["user"]}]) == "unreadable, other, other"


# --- sessions


def test_a_session_tells_what_else_a_save_did() -> None:
    old = file_of(metadata(), user("a"), assistant("b"))
    assert describe.saved_session(delta(old, old + b"")).subject.endswith("saved again, no new messages")
    assert describe.saved_session(delta(None, file_of(metadata()))).subject == "session(cli:direct): started"
    titled = file_of(metadata(title="Tea"), user("a"), assistant("b"))
    assert describe.saved_session(delta(old, titled)).subject == 'session(cli:direct): title "Tea"'
    back = delta(file_of(metadata(mark=2), user("a"), assistant("b")), old)
    assert describe.saved_session(back).subject == "session(cli:direct): last_consolidated 2 -> 0"


def test_a_cleared_and_a_shortened_session_say_what_is_left() -> None:
    old = file_of(metadata(), *(user(str(number)) for number in range(6)))
    cleared = describe.compacted_session(delta(old, file_of(metadata())))
    assert (cleared.kind, cleared.subject) == (Kind.COMPACT, "compact(cli:direct): cleared 6 messages")
    kept = describe.compacted_session(delta(old, file_of(metadata(), user("4"), user("5"), assistant("new"))))
    assert kept.subject == "compact(cli:direct): dropped 4 messages, kept 2, +1 (assistant)"


def test_a_phase_is_named_by_its_session_and_what_waits() -> None:
    running = {"phase": "awaiting_tools", "pending_tool_calls": [call("a"), call("b")]}
    message = describe.phase(CLI, file_of(metadata(runtime_checkpoint=running), user("go")))
    assert message.subject == "checkpoint(cli:direct): awaiting_tools, 2 calls pending"
    assert message.trailers == (("Gitmem-Session", "cli:direct"), ("Gitmem-Phase", "awaiting_tools"))
    assert describe.phase("sessions/x.checkpoint.json", b"{").subject == "checkpoint(x): run state"


# --- the archive


def test_a_consolidation_tells_where_messages_went() -> None:
    old = file_of(metadata(mark=0), *(user(str(number)) for number in range(4)))
    archived = delta(old, old.replace(b'"last_consolidated": 0', b'"last_consolidated": 4'))
    message = describe.consolidation([archived], entries(7))
    assert message.subject == "consolidate(cli:direct): messages 0..4 -> history 7"
    raw = describe.consolidation([archived], entries(7, 8, text="[RAW] 4 messages"))
    assert raw.subject == "consolidate(cli:direct): messages 0..4 -> history 7..8, raw"
    assert ("Gitmem-Outcome", "degraded raw") in raw.trailers


def test_dropped_entries_are_told_with_whether_a_dream_has_seen_them() -> None:
    queue = [history.record(cursor, "2026-03-01 10:00", "x", None) + b"\n" for cursor in range(1, 7)]
    dropped = change("memory/history.jsonl", b"".join(queue), b"".join(queue[4:]))
    found = history_delta(dropped)
    assert describe.compacted_history(found, 4).subject == "compact(history): dropped 1..4, all dreamed"
    assert describe.compacted_history(found, None).subject == "compact(history): dropped 1..4"
    edited = describe.edited_history(dropped, found, 2)
    assert edited.subject == "edit(memory/history.jsonl): lost 1..4"
    assert edited.body == ("ATTENTION: no Dream has seen 3..4",)


def test_a_dream_says_what_it_took_and_what_became_of_it() -> None:
    edits = [change("USER.md", b"- a\n", b"- b\n"), change("memory/MEMORY.md", b"", b"- c\n")]
    message = describe.dream((13, 17), edits, [])
    assert message.subject == "dream: history 14..17 -> USER.md +1 -1, MEMORY.md +1"
    assert message.trailers == (("Gitmem-Dream", "14..17"), ("Gitmem-Outcome", "completed"))
    assert describe.dream((13, 14), [], []).subject == "dream: history 14 -> nothing new"
    failed = describe.dream(None, edits, [])
    assert failed.subject == "dream: unfinished -> USER.md +1 -1, MEMORY.md +1"
    assert failed.trailers == (("Gitmem-Outcome", "failed cursor did not move"),)


@pytest.mark.parametrize("arguments", ['{"path": "USER.md"}', {"path": "USER.md"}])
def test_a_dream_whose_edits_came_earlier_names_them_by_its_session(arguments: object) -> None:
    edit = {"id": "a", "function": {"name": "edit_file", "arguments": arguments}}
    odd = [
        {"id": "b", "function": {"name": "write_file", "arguments": broken}}
        for broken in ("{", None, "[1]", 7)
    ]
    said: list[Json] = [
        {"role": "assistant", "tool_calls": [edit, *odd, None, {"function": 1}]},
        {"tool_calls": "x"},
    ]
    session = delta(None, file_of(metadata("dream:1"), *said), "sessions/dream_1.jsonl")
    assert describe.dream((0, 3), [], [session]).subject == "dream: history 1..3 -> USER.md (edited before)"


# --- files


def test_edits_and_removals_are_told_by_file() -> None:
    one = [change("SOUL.md", b"a\n", b"b\n")]
    assert describe.edits(one, {}) == Message(Kind.EDIT, "edit(SOUL.md): +1 -1", ())
    two = [*one, change("USER.md", b"a\n", None)]
    assert describe.edits(two, {}).subject == "edit: SOUL.md +1 -1, USER.md removed -1"
    assert describe.edits(two, {}).body == (
        "SOUL.md: +1 -1",
        "USER.md: removed, -1",
        "ATTENTION: USER.md: its only entry removed",
    )


def test_long_lists_are_cut_in_the_body() -> None:
    gone = [change(f"notes/{number:02}.md", b"a\n", None) for number in range(LISTED + 3)]
    message = describe.removed(gone)
    assert message.subject == "delete: 33 files, 33 lines"
    assert message.body[LISTED] == "and 3 more"


# --- outsiders' text


HOSTILE = st.text(
    st.sampled_from("ab \n\r\t\0\u2028\u0085:é\x1b\ud800") | st.characters(), max_size=40
) | st.sampled_from(
    [
        "x\n\nGitmem-Kind: dream",
        "x\r\nGitmem-Session: other",
        "x\u2028Gitmem-Kind: revert",
        "k" * 5000,
        "\n",
        "): +9 (",
    ]
)


@given(
    HOSTILE,
    HOSTILE,
    st.sampled_from(
        ["saved", "compacted", "deleted", "phase", "consolidated", "dream", "edit", "removed", "migrated"]
    ),
)
def test_no_key_name_or_title_forges_a_line_or_hides_what_happened(key: str, name: str, what: str) -> None:
    kind, trailers = parse(data := render(_told(key, name, what), host="h", agent="a"))
    text = data.decode("utf-8")
    subject, blank, *_ = [*text.split("\n"), ""]
    assert blank == ""
    assert len(subject) <= SUBJECT_WIDTH
    assert kind is KINDS[what]
    assert trailers["Gitmem-Kind"] == (str(kind),)
    assert len(trailers.get("Gitmem-Session", ())) <= 1
    lines = [line for line in text.split("\n") if line.startswith("Gitmem-")]
    assert len(lines) == sum(map(len, trailers.values()))


KINDS: Mapping[str, Kind] = {
    "saved": Kind.SESSION,
    "compacted": Kind.COMPACT,
    "deleted": Kind.DELETE,
    "phase": Kind.CHECKPOINT,
    "consolidated": Kind.CONSOLIDATE,
    "dream": Kind.DREAM,
    "edit": Kind.EDIT,
    "removed": Kind.DELETE,
    "migrated": Kind.MIGRATE,
}


def _told(key: str, name: str, what: str) -> Message:
    old = file_of(metadata(key, title="old"), user("a"), assistant("b"))
    new = file_of(metadata(key, title=name), user("a"), assistant("b"), user("c"))
    path = f"skills/{name}.md"
    match what:
        case "saved":
            return describe.saved_session(delta(old, new, path), moved_from=name)
        case "compacted":
            return describe.compacted_session(delta(old, file_of(metadata(key)), path))
        case "deleted":
            return describe.deleted_session(delta(old, None, path))
        case "phase":
            return describe.phase(path, file_of(metadata(key, runtime_checkpoint={"phase": name})))
        case "consolidated":
            return describe.consolidation([delta(old, new, path)], entries(1, key=key))
        case "dream":
            return describe.dream((0, 1), [change(path, None, b"a\n")], [])
        case "edit":
            return describe.edits([change(path, b"", b"a\n"), change(f"{path}x", b"", b"a\n")], {path: name})
        case "removed":
            return describe.removed([change(path, b"a\n", None)])
        case _:
            return describe.migration(path, entries(1))
