"""Old messages become history entries: none lost, none twice, and a model that fails costs nothing but its summary."""

from pathlib import Path
from typing import Any

import pytest

from gitmem.core import session as sessions
from gitmem.core.conversation import is_legal
from gitmem.errors import ModelError
from tests.engines import (
    add,
    make_workspace,
    queue,
    said,
    scripted,
    session,
    subjects,
    talk,
    tool_call_body,
    working,
    write_history,
    write_session,
)

GOOD = {"text": "- [durable] they counted"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "ws")


def texts(root: Path) -> str:
    return "\n".join(entry.content for entry in queue(root))


def test_a_chunk_becomes_an_entry_and_the_mark_moves_past_it(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD) as (work, endpoint):
        (done,) = work.archive(work.path_of("cli:direct"), 8)
        assert (done.messages, done.cursors, done.failure) == ((0, 12), (1,), None)
        assert subjects(work.opened)[0] == "consolidate(cli:direct): messages 0..12 -> history 1"
        asked = endpoint.requests[0]["messages"][1]["content"]
        assert "m11" in asked
        assert "m12" not in asked
    (entry,) = queue(root)
    assert (entry.cursor, entry.content, entry.session_key) == (1, GOOD["text"], "cli:direct")
    after = session(root, "cli:direct")
    assert after.last_consolidated == 12
    assert [message["content"] for message in after.messages] == [f"m{n:02}" for n in range(20)]
    assert after.state["_last_summary"]["text"] == GOOD["text"]
    assert (root / "memory" / ".cursor").read_text() == "1"


def test_the_state_before_is_committed_and_the_archiving_can_be_taken_back(root: Path) -> None:
    from gitmem.actions import undo  # noqa: PLC0415

    path = write_session(root, "cli:direct", talk(10))
    before = path.read_bytes()
    with scripted(root, GOOD) as (work, _):
        (done,) = work.archive("sessions/cli_direct.jsonl", 8)
        undo.apply(work.opened, undo.plan_revert(work.opened, [done.commit]), force=True)
    assert path.read_bytes() == before
    assert queue(root) == ()


def test_what_is_archived_is_not_archived_again(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD) as (work, endpoint):
        assert len(list(work.archive("sessions/cli_direct.jsonl", 8))) == 1
        assert list(work.archive("sessions/cli_direct.jsonl", 8)) == []
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "item",
    [
        {"status": 500},
        {"body": ""},
        {"body": {"choices": []}},
        {"body": {"choices": [{"message": None}]}},
        {"close": True},
        {"text": None},
        {"text": "<think>only thoughts"},
        {"text": "half a summ", "finish": "length"},
        {"text": "half", "finish": "content_filter"},
        {"text": "Error: model overloaded", "finish": "error"},
        {"text": "Error calling LLM: overloaded (529), please retry"},
        tool_call_body("exec", {"command": "rm -rf /"}),
        {"text": '{"history_entry": {"summary": "tea"}, "memory_update": null}'},
        {
            "text": "\n".join(
                f"[2026-01-05 10:{n:02}] {'USER' if n % 2 == 0 else 'ASSISTANT'}: m{n:02}" for n in range(12)
            )
        },
        {"status": 402, "body": {"error": {"message": "no credit"}}},
    ],
)
def test_b78_b80_without_a_summary_the_messages_themselves_are_kept(root: Path, item: dict[str, Any]) -> None:
    write_session(root, "cli:direct", talk(10))
    with scripted(root, item, model_timeout=5.0) as (work, _):
        chunks = list(work.archive("sessions/cli_direct.jsonl", 0))
        assert len(chunks) == 1
        assert chunks[0].failure is not None
        assert "raw" in subjects(work.opened)[0]
    assert all(f"m{n:02}" in texts(root) for n in range(20))
    assert texts(root).startswith("[RAW] 20 messages")
    assert session(root, "cli:direct").last_consolidated == 20


def test_a_long_conversation_is_kept_raw_in_as_many_entries_as_it_takes(root: Path) -> None:
    long = [
        {**said(n, "assistant" if n % 2 else "user"), "content": f"m{n:02} " + "x" * 9000} for n in range(8)
    ]
    write_session(root, "cli:direct", long)
    with working(root) as work:
        (done,) = work.archive("sessions/cli_direct.jsonl", 0)
    assert len(done.cursors) > 4
    assert texts(root).count("x") == 8 * 9000
    assert all(len(entry.content) <= 16_000 for entry in queue(root))


def test_one_failing_call_ends_the_rounds(root: Path) -> None:
    write_session(root, "cli:direct", talk(300))
    with scripted(root, {"status": 401, "body": {"error": "no"}}) as (work, endpoint):
        assert len(list(work.archive("sessions/cli_direct.jsonl", 0))) == 1
        assert len(endpoint.requests) == 1
    assert 0 < session(root, "cli:direct").last_consolidated < 600


def test_a_patient_run_leaves_messages_alone_when_nobody_can_be_asked(root: Path) -> None:
    path = write_session(root, "cli:direct", talk(10))
    before = path.read_bytes()
    with scripted(root, {"status": 401, "body": {"error": "no"}}) as (work, _), pytest.raises(ModelError):
        list(work.compact("sessions/cli_direct.jsonl", patient=True))
    assert path.read_bytes() == before


def test_pressure_is_relieved_in_chunks_that_end_where_a_turn_begins(root: Path) -> None:
    turns = [{**message, "content": f"{message['content']} {'word ' * 200}"} for message in talk(30)]
    write_session(root, "cli:direct", turns)
    with scripted(root, GOOD, context_window=10_000, max_completion=1000) as (work, _):
        assert work.under_pressure("sessions/cli_direct.jsonl")
        chunks = list(work.relieve("sessions/cli_direct.jsonl"))
        assert not work.under_pressure("sessions/cli_direct.jsonl")
    assert chunks
    after = session(root, "cli:direct")
    assert all(after.messages[chunk.messages[1]]["role"] == "user" for chunk in chunks)
    assert 0 < after.last_consolidated < 60


def test_an_idle_session_keeps_its_last_turns_and_nothing_of_the_rest_is_lost(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD) as (work, _):
        list(work.compact("sessions/cli_direct.jsonl"))
        assert subjects(work.opened)[:2] == [
            "compact(cli:direct): dropped 12 messages, kept 8",
            "consolidate(cli:direct): messages 0..12 -> history 1",
        ]
    after = session(root, "cli:direct")
    assert [message["content"] for message in after.messages] == [f"m{n:02}" for n in range(12, 20)]
    assert after.last_consolidated == 0
    assert is_legal(after.messages)
    with scripted(root, GOOD) as (work, endpoint):
        assert list(work.compact("sessions/cli_direct.jsonl")) == []
        assert endpoint.requests == []


def test_a_file_past_its_cap_loses_only_what_is_archived(root: Path) -> None:
    write_session(root, "cli:direct", talk(1050), archived=20)
    with scripted(root, GOOD) as (work, _):
        list(work.relieve("sessions/cli_direct.jsonl"))
    after = session(root, "cli:direct")
    assert len(after.messages) == 2000
    assert after.messages[0]["content"] == "m100"
    assert after.last_consolidated == 0
    assert len(queue(root)) == 1


def test_tools_stay_with_their_results(root: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "exec", "arguments": "{}"}}
    turn = [
        said(0),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "exec", "content": "done"},
        said(3, "assistant"),
    ]
    write_session(root, "cli:direct", turn * 6)
    with scripted(root, GOOD) as (work, _):
        list(work.compact("sessions/cli_direct.jsonl"))
    after = session(root, "cli:direct")
    assert is_legal(after.messages)
    assert after.messages[0]["role"] == "user"


def test_messages_that_came_while_the_model_thought_are_kept(root: Path) -> None:
    path = write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD) as (work, _):
        ask = work.model.ask  # type: ignore[union-attr]  # set by `scripted`

        def slow(*args: Any, **options: Any) -> Any:
            answer = ask(*args, **options)
            path.write_bytes(path.read_bytes() + b'{"role": "user", "content": "one more"}\n')
            return answer

        work.model.ask = slow  # type: ignore[union-attr, method-assign]  # stands between asking and recording
        done = next(work.archive("sessions/cli_direct.jsonl", 8))
    after = session(root, "cli:direct")
    assert after.messages[-1]["content"] == "one more"
    assert after.last_consolidated == done.messages[1] == 12


def test_messages_that_somebody_else_archived_meanwhile_are_not_archived_twice(root: Path) -> None:
    path = write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD) as (work, _):
        ask = work.model.ask  # type: ignore[union-attr]  # set by `scripted`

        def slow(*args: Any, **options: Any) -> Any:
            answer = ask(*args, **options)
            path.write_bytes(path.read_bytes().replace(b'"last_consolidated": 0', b'"last_consolidated": 12'))
            return answer

        work.model.ask = slow  # type: ignore[union-attr, method-assign]  # stands between asking and recording
        assert list(work.archive("sessions/cli_direct.jsonl", 8)) == []
    assert queue(root) == ()


def test_b01_b16_a_damaged_queue_is_appended_to_without_reusing_a_number(root: Path) -> None:
    write_history(root, "one", "two")
    file = root / "memory" / "history.jsonl"
    file.write_bytes(
        file.read_bytes() + b'{"cursor": 9, "timestamp": "x", "content": ["odd"]}\n{"cursor": 12, "time'
    )
    damaged = file.read_bytes()
    write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD) as (work, _):
        (done,) = work.archive("sessions/cli_direct.jsonl", 8)
    assert done.cursors == (13,)
    assert file.read_bytes().startswith(damaged + b"\n")


def test_b07_an_odd_mark_hides_nothing(root: Path) -> None:
    path = write_session(root, "cli:direct", talk(10))
    path.write_bytes(path.read_bytes().replace(b'"last_consolidated": 0', b'"last_consolidated": 999'))
    with scripted(root, GOOD) as (work, _):
        (done,) = work.archive("sessions/cli_direct.jsonl", 8)
    assert done.messages == (0, 12)


def test_b25_equal_messages_are_different_messages(root: Path) -> None:
    yes = [{"role": role, "content": "yes"} for role in ("user", "assistant")] * 4
    write_session(root, "cli:direct", yes)
    with scripted(root, GOOD) as (work, _):
        (done,) = work.archive("sessions/cli_direct.jsonl", 4)
    assert done.messages == (0, 4)
    assert list(session(root, "cli:direct").messages) == yes


def test_run_state_of_a_session_survives_on_disk(root: Path) -> None:
    path = write_session(root, "cli:direct", talk(10))
    path.write_bytes(path.read_bytes().replace(b'"metadata": {}', b'"metadata": {"pending_user_turn": true}'))
    with scripted(root, GOOD) as (work, _):
        list(work.archive("sessions/cli_direct.jsonl", 8))
        committed = work.opened.repo.file(work.opened.repo.head(), "sessions/cli_direct.jsonl")
    assert session(root, "cli:direct").state["pending_user_turn"] is True
    assert committed is not None
    assert "pending_user_turn" not in sessions.parse(committed.data).state


def test_entries_of_a_dream_and_of_the_archive_never_meet(root: Path) -> None:
    write_session(root, "cli:direct", talk(10))
    with scripted(root, GOOD, {"edits": [add("they counted to 19", 1)]}) as (work, _):
        list(work.archive("sessions/cli_direct.jsonl", 8))
        (commit,) = work.dream()
        assert commit.trailers["Gitmem-Dream"] == ("1",)
