"""Bug reports about files that were damaged, odd or interrupted: what is read, what is kept, what is written.

Each case is told in our own data; the handed-out inputs are run as well where they lie beside the project.
"""

import json
import tarfile
import unicodedata
from dataclasses import replace
from itertools import pairwise

import pytest

from gitmem.core import checkpoint, history, jsonl, session
from gitmem.core.conversation import for_request, is_legal, is_stub, open_calls
from gitmem.core.replay import replay
from tests.cases.shared import handed_out, handed_out_files, workspaces
from tests.core.conversations import Json, assistant, call, file_of, metadata, roles, tool, user

NOW = "2026-03-01T12:00:00.000001"


def entry(cursor: object, content: object = "text") -> bytes:
    return file_of({"cursor": cursor, "timestamp": "2026-03-01 10:00", "content": content})


def with_message(data: bytes, text: str) -> bytes:
    """A session file as an agent saves it after loading it and adding a message."""
    loaded = session.parse(data)
    return session.render(replace(loaded, messages=(*loaded.messages, user(text))))


# B01: an agent wrote its own lines into the history.


def test_b01_lines_with_odd_cursors_are_kept_and_not_dreamed_and_their_numbers_not_reused() -> None:
    odd = b"".join(
        [entry("2026-03-01"), entry(True), entry(1.5), entry(None), entry(-1), entry("8"), entry(9, [])]
    )
    data = entry(1) + odd + entry(4)
    parsed = history.parse(data)
    assert [e.cursor for e in history.after(parsed, 0)] == [1, 4]
    assert len(parsed.problems) == 7
    assert history.next_cursor(data, b"3") == 10
    assert odd in history.append(data, 10, "t", "new")
    assert odd in history.compact(data, 99, 0)


def test_b01_as_handed_out() -> None:
    data = handed_out("B01/memory/history.jsonl")
    expected = json.loads(handed_out("B01/expected.json"))
    parsed = history.parse(data)
    assert [e.cursor for e in parsed.entries] == expected["usable_cursors"]
    assert [int(p.split(":")[0].removeprefix("line ")) for p in parsed.problems] == expected["unusable_lines"]
    assert history.next_cursor(data, None) > expected["next_cursor_must_be_greater_than"]


# B06, B94: keys that are hostile, or look like one another.


def saved_and_listed(keys: list[str]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for key in keys:
        stem = session.file_stem(key)
        name = unicodedata.normalize("NFC", stem.casefold()) + ".jsonl"
        assert name not in files
        assert len(name.encode()) <= 255
        files[name] = session.render(session.Session({"key": key}, (user(key),)))
    return files


def test_b06_every_key_finds_its_own_message_again() -> None:
    keys = [
        "chat:a_b",
        "chat:a:b",
        "chat/a:b",
        "Chat:a_b",
        "chat:a_b.",
        "x:con",
        "x:NUL",
        "x:é",
        "x:e\u0301",
        "y" * 400,
    ]
    files = saved_and_listed(keys)
    loaded = [session.parse(data) for data in files.values()]
    assert [item.key for item in loaded] == keys
    assert [item.messages[0]["content"] for item in loaded] == keys


@pytest.mark.parametrize("case", ["B06", "B94"])
def test_b06_and_b94_as_handed_out(case: str) -> None:
    keys = json.loads(handed_out(f"{case}/keys.json"))
    files = saved_and_listed(keys)
    assert [session.parse(data).key for data in files.values()] == keys
    assert not any(set(name) & set("/\\:\0") or name.startswith((".", "-")) for name in files)


# B07: an archive mark that is out of range or no number.


@pytest.mark.parametrize("mark", [99, -2, "1", True, 1.0, None, [1]])
def test_b07_no_archive_mark_hides_a_message(mark: object) -> None:
    data = file_of({**metadata(), "last_consolidated": mark}, user("a"), assistant("b"))
    loaded = session.parse(data)
    assert len(session.unarchived(loaded)) == 2
    assert session.parse(session.render(loaded)).messages == loaded.messages
    assert len(session.unarchived(session.parse(with_message(data, "c")))) == 3


def test_b07_as_handed_out() -> None:
    visible = json.loads(handed_out("B07/expected.json"))["unconsolidated_visible"]
    files = handed_out_files("B07/sessions", "*.jsonl")
    assert len(files) == len(visible)
    for name, data in files.items():
        loaded = session.parse(data)
        again = session.parse(session.render(loaded))
        assert len(session.unarchived(loaded)) == visible[name.removesuffix(".jsonl").removeprefix("lc_")], (
            name
        )
        assert again.messages == loaded.messages
        assert session.unarchived(again) == session.unarchived(loaded)
        assert session.render(loaded).count(b'"_type": "metadata"') == 1


# B10: checkpoints that contradict themselves. Most variants are in tests/core/test_replay.py.


def test_b10_a_checkpoint_that_lists_a_finished_call_as_pending_keeps_its_result() -> None:
    head = assistant("on it", "a", "b")
    point = {
        "phase": "awaiting_tools",
        "assistant_message": head,
        "completed_tool_results": [tool("a", "real"), tool("z")],
        "pending_tool_calls": [call("a")],
    }
    result = replay(file_of(metadata(runtime_checkpoint=point), user("go")), now=NOW)
    assert result is not None
    assert [m.get("content") for m in session.parse(result.session).messages[:3]] == ["go", "on it", "real"]
    assert (result.interrupted, len(result.set_aside)) == (1, 1)
    assert replay(result.session, now="later") is None


def test_b10_as_handed_out() -> None:
    expected = json.loads(handed_out("B10/expected.json"))
    files = handed_out_files("B10/sessions", "*.jsonl")
    assert len(files) == 16
    for file_name, data in files.items():
        name = file_name.removesuffix(".jsonl")
        result = replay(data, now=NOW)
        new = data if result is None else result.session
        messages = session.parse(new).messages
        assert len(messages) == expected["messages_after"][name], name
        stubs = [m["tool_call_id"] for m in messages if is_stub(m)]
        assert stubs == expected["interrupted_ids"].get(name, []), name
        assert is_legal(messages)
        assert not open_calls(messages)
        assert replay(new, now="later") is None, name
        assert data.partition(b"\n")[2] in new
    assert replay(files["ck09_no_assistant.jsonl"], now=NOW) is None


# B14: NUL bytes of a crashed append.


def test_b14_everything_around_nul_bytes_is_read_and_the_next_save_is_clean() -> None:
    rest = file_of(user("c"))
    data = file_of(metadata(), user("a")) + b"\0" * 500 + file_of(assistant("b")) + b"\0" * 30 + b"\n" + rest
    loaded = session.parse(data)
    assert [m["content"] for m in loaded.messages] == ["a", "b", "c"]
    assert loaded.problems == ("line 3: 500 NUL bytes", "line 4: 30 NUL bytes")
    assert with_message(data, "d") == file_of(metadata(), user("a"), assistant("b"), user("c"), user("d"))


def test_b14_as_handed_out() -> None:
    for name, data in handed_out_files("B14/sessions", "*.jsonl").items():
        loaded = session.parse(data)
        assert len(loaded.messages) == 4, name
        assert len(loaded.problems) == 1, name
        assert len(session.parse(with_message(data, "next")).messages) == 5
    data = handed_out("B14/memory/history.jsonl")
    assert [e.cursor for e in history.parse(data).entries] == [1, 2, 3]
    assert history.next_cursor(data, None) == 4


# B16: files cut anywhere.


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"\n\n\n", 0),
        (file_of(metadata()), 0),
        (file_of(metadata(), user("a")) + b'{"role": "assistant", "con', 1),
        (file_of(metadata()) + '{"role": "user", "content": "é😀'.encode()[:-2], 0),
        (b'{"_type": "metadata", "key": "x\n' + file_of(user("a"), assistant("b")), 2),
    ],
)
def test_b16_a_cut_file_is_read_as_far_as_it_goes_and_nothing_of_it_is_lost(data: bytes, count: int) -> None:
    assert len(session.parse(data).messages) == count
    grown = with_message(data, "next")
    assert len(session.parse(grown).messages) == count + 1
    assert all(
        line in grown.split(b"\n") for line in data.split(b"\n") if b'"role"' in line or b"metadata" in line
    )


def test_b16_as_handed_out() -> None:
    counts = {
        "torn_tail": 3,
        "torn_utf8": 0,
        "torn_metadata": 2,
        "empty": 0,
        "only_metadata": 0,
        "only_newlines": 0,
    }
    files = handed_out_files("B16/sessions", "*.jsonl")
    assert {
        name.removesuffix(".jsonl"): len(session.parse(data).messages) for name, data in files.items()
    } == counts
    assert [name for name, data in files.items() if jsonl.is_torn(data)] == [
        "torn_tail.jsonl",
        "torn_utf8.jsonl",
    ]
    assert history.next_cursor(handed_out("B16/memory/history.jsonl"), None) > 2


# B18: line separators inside strings.


def test_b18_unicode_line_separators_do_not_cut_a_record() -> None:
    data = file_of(metadata(), user("one\u2028two\u2029three\u0085four"), assistant("\u2028"))
    assert len(session.parse(data).messages) == 2
    assert with_message(data, "x") == data + file_of(user("x"))
    assert len(history.parse(entry(1, "a\u2028b")).entries) == 1


def test_b18_as_handed_out() -> None:
    data = handed_out("B18/sessions/u2028.jsonl")
    assert len(session.parse(data).messages) == 6
    assert with_message(data, "x").startswith(data)
    assert len(history.parse(handed_out("B18/memory/history.jsonl")).entries) == 2


# B19: calls without results, results without calls. More in tests/core/test_conversation.py.


def test_b19_as_handed_out() -> None:
    sent = {
        "killed_mid_tools.jsonl": "uatttua",
        "aborted_call_with_synthetic.jsonl": "uau",
        "call_at_end.jsonl": "ua",
        "call_without_arguments.jsonl": "uata",
    }
    for name, data in handed_out_files("B19/sessions", "*.jsonl").items():
        loaded = session.parse(data)
        request = for_request(loaded.messages)
        assert roles(request) == sent[name]
        assert for_request(request) == request
        assert session.render(loaded) == data
        for message in request:
            assert all(c["function"]["arguments"] == "{}" for c in message.get("tool_calls", ()))


# B25: the same text twice is two messages.


def test_b25_equal_messages_are_never_folded() -> None:
    yes = user("yes", timestamp="2026-03-01T10:00:00")
    messages: list[Json] = [m for _ in range(4) for m in (yes, assistant("ok"))]
    data = file_of(metadata(mark=4), *messages)
    loaded = session.parse(data)
    assert list(loaded.messages) == messages
    assert len(session.unarchived(loaded)) == 4
    assert with_message(data, "yes") == data + file_of(user("yes"))
    point = {"assistant_message": assistant("ok"), "completed_tool_results": [], "pending_tool_calls": []}
    waiting = file_of(metadata(mark=4, runtime_checkpoint=point), *messages, yes)
    result = replay(waiting, now=NOW)
    assert result is not None
    assert roles(session.parse(result.session).messages) == "uauauauaua"


def test_b25_as_handed_out() -> None:
    counts = {"repeat.jsonl": 8, "repeat_same_timestamp.jsonl": 4}
    for name, data in handed_out_files("B25/sessions", "*.jsonl").items():
        loaded = session.parse(data)
        assert roles(loaded.messages) == "ua" * (counts[name] // 2)
        assert session.render(replace(loaded, last_consolidated=2)).count(b"\n") == counts[name] + 1


# B27: line endings and byte order marks.


def test_b27_files_with_crlf_or_a_byte_order_mark_are_read_fully_and_appended_to_with_lf() -> None:
    crlf = file_of(metadata(mark=1), user("a")).replace(b"\n", b"\r\n")
    for data in (crlf, b"\xef\xbb\xbf" + file_of(metadata(mark=1), user("a"))):
        loaded = session.parse(data)
        assert (loaded.key, loaded.last_consolidated, loaded.problems) == ("cli:direct", 1, ())
        assert session.render(loaded) == data
    assert with_message(crlf, "b") == crlf + file_of(user("b"))
    assert (
        history.append(entry(1)[:-1] + b"\r\n", 2, "t", "x")
        == entry(1)[:-1] + b"\r\n" + history.record(2, "t", "x") + b"\n"
    )
    assert history.parse_cursor(b"2\r\n") == 2


def test_b27_as_handed_out() -> None:
    bom = session.parse(handed_out("B27/bom/sessions/bom.jsonl"))
    assert (bom.key, bom.last_consolidated, len(bom.messages)) == ("cli:direct", 1, 1)
    mixed = handed_out("B27/mixed/sessions/mixed.jsonl")
    assert with_message(mixed, "x") == mixed + file_of(user("x"))
    crlf = handed_out("B27/crlf/memory/history.jsonl")
    assert not history.parse(crlf).problems
    assert history.append(crlf, history.next_cursor(crlf, None), "t", "x").startswith(crlf)
    assert history.parse_cursor(handed_out("B27/dream_cursor_crlf/memory/.dream_cursor")) == 2


# B69: fields that we do not know.


def test_b69_unknown_fields_survive_a_save_and_a_strip_digit_for_digit() -> None:
    data = (
        b'{"_type": "metadata", "schema": 7, "big": 12345678901234567890, "metadata": {"v": 1.50}, '
        b'"last_consolidated": 0}\n{"role": "user", "content": "hi", "vector": [0.1, 1e-7]}\n'
    )
    grown = session.render(replace(session.parse(data), last_consolidated=1))
    assert grown == data.replace(b'dated": 0', b'dated": 1')
    running = checkpoint.overlay(data, file_of(metadata(pending_user_turn=True)))
    assert checkpoint.strip(running) == data


# B71: loading and saving is not a change.


def test_b71_as_handed_out() -> None:
    data = handed_out("B71/sessions/s.jsonl")
    assert session.render(session.parse(data)) == data
    assert checkpoint.strip(data) == data
    past = handed_out("B71/memory/history.jsonl")
    assert history.compact(past, 0, 0) == past
    assert history.repaired(past) == past


# B74: somebody committed conflict markers.


def test_b74_as_handed_out() -> None:
    past = history.repaired(handed_out("B74/memory/history.jsonl"))
    entries = history.parse(past).entries
    assert {e.content for e in entries} == {"a", "ours", "theirs", "c"}
    assert all(one.cursor < other.cursor for one, other in pairwise(entries))
    assert not history.parse(past).problems
    diff3 = session.parse(handed_out("B74/sessions/diff3.jsonl"))
    assert [m["content"] for m in diff3.messages] == ["x", "y"]
    assert len(session.unarchived(diff3)) == 2
    assert session.render(diff3).count(b'"_type"') == 1
    glued = session.parse(handed_out("B74/sessions/glued_marker.jsonl"))
    assert roles(glued.messages) == "uau"
    assert b"=====" not in with_message(handed_out("B74/sessions/glued_marker.jsonl"), "x")


# Workspaces of a real agent that was killed, and what it made of them itself.


@pytest.mark.parametrize("release", ["0.2.2", "head"])
def test_our_replay_gives_the_messages_that_the_agent_itself_gives(release: str) -> None:
    before = {
        name: data
        for scenario in ("kill", "kill2")
        for name, data in sessions_of(f"{release}-{scenario}").items()
    }
    after = sessions_of(f"{release}-restart")
    compared = 0
    for name, data in before.items():
        result = replay(data, now=NOW)
        wanted = [without_time(m) for m in session.parse(after[name]).messages]
        if result is None:
            assert checkpoint.strip(data) == data
        elif len(wanted) > 1:
            found = [without_time(m) for m in session.parse(result.session).messages]
            assert wanted[: len(found)] == found
            assert roles(wanted[len(found) :]) == "ua"
            compared += 1
    assert compared == 2


def without_time(message: session.Message) -> Json:
    return {name: value for name, value in message.items() if name != "timestamp"}


def sessions_of(scenario: str) -> dict[str, bytes]:
    """The session files of one recorded workspace, by file name."""
    found: dict[str, bytes] = {}
    with tarfile.open(workspaces()) as archive:
        for member in archive:
            path = member.name.removeprefix("./")
            if path.startswith(f"{scenario}/") and "/sessions/" in path and path.endswith(".jsonl"):
                file = archive.extractfile(member)
                assert file is not None
                found[path.rpartition("/")[2]] = file.read()
    return found
