"""Machine-local run state: out of what is committed, back on its own machine, and no other byte touched."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import checkpoint, jsonl, session
from tests.core.conversations import (
    Json,
    assistant,
    call,
    conversations,
    file_of,
    metadata,
    tool,
    user,
)

PRIVATE = {"_type": "provider_state", "state": {"opaque": 1e-7}}
POINT: Json = {
    "phase": "awaiting_tools",
    "iteration": 2,
    "assistant_message": assistant("", "a", "b"),
    "completed_tool_results": [],
    "pending_tool_calls": [call("a"), call("b")],
}
run_states = st.dictionaries(
    st.sampled_from(sorted(checkpoint.VOLATILE)), st.sampled_from([POINT, True, False, None, "x"]), max_size=3
)
inner = st.dictionaries(
    st.sampled_from(["title", "goal_state", "n"]), st.sampled_from(["t", 1e-7, {"a": [1]}])
)
pieces = st.one_of(
    st.builds(
        lambda mine, state: jsonl.dump({**metadata(), "metadata": {**mine, **state}}), inner, run_states
    ),
    st.builds(
        lambda mine, state: json.dumps({"metadata": {**state, **mine}, "_type": "metadata"}),
        inner,
        run_states,
    ).map(str.encode),
    st.sampled_from(
        [
            jsonl.dump(PRIVATE),
            jsonl.dump(PRIVATE) + b"\r",
            jsonl.dump(user('talks about "_type": "provider_state" and runtime_checkpoint')),
            jsonl.dump(user("x", nested={"_type": "provider_state"}, metadata={"runtime_checkpoint": {}})),
            jsonl.dump({"_type": "note", "metadata": {"runtime_checkpoint": {}}}),
            b'{"_type": "metadata", "metadata": {"runtime_checkpoint": ',
            b'\xef\xbb\xbf{"_type":"metadata","metadata":{"pending_user_turn":true}}',
            b"\0\0" + jsonl.dump(PRIVATE) + jsonl.dump(user("y")),
            b'"_type" runtime_checkpoint',
            b"",
            b"\xff",
        ]
    ),
)
files = st.lists(pieces).map(b"\n".join) | st.lists(pieces).map(
    lambda raws: b"".join(r + b"\n" for r in raws)
)


def live(*messages: Json, private: bool = False, **state: Any) -> bytes:
    return file_of(metadata(**state), *([PRIVATE] if private else []), *messages)


@given(files | st.binary())
def test_taking_run_state_out_of_any_bytes_takes_nothing_else(data: bytes) -> None:
    stripped = checkpoint.strip(data)
    assert checkpoint.strip(stripped) == stripped
    assert checkpoint.overlay(stripped, data) == data
    before, after = session.parse(data), session.parse(stripped)
    assert after.messages == before.messages
    assert not set(after.state) & checkpoint.VOLATILE
    assert {n: v for n, v in before.state.items() if n not in checkpoint.VOLATILE} == after.state
    assert all(record["_type"] != "provider_state" for record in after.opaque)
    assert checkpoint.has_run_state(data) == (stripped != data)
    assert set(stripped.split(b"\n")) <= set(data.split(b"\n")) or checkpoint.has_run_state(data)


@given(conversations, inner)
def test_a_file_without_run_state_is_returned_as_it_is(messages: list[Json], state: dict[str, Any]) -> None:
    data = live(*messages, **state)
    assert checkpoint.strip(data) is data
    assert not checkpoint.has_run_state(data)
    assert not checkpoint.is_mid_turn(data)


def test_only_the_fields_go_and_the_spelling_of_the_rest_stays() -> None:
    data = (
        b'{ "_type":"metadata","metadata":{"n":1e-7,"runtime_checkpoint":{"a":"}\\""},"pending_user_turn":true} }\r\n'
        b'{"role":"user"}\n{"_type":"provider_state"}\n{"role" : "assistant"}'
    )
    expected = b'{ "_type":"metadata","metadata":{"n":1e-7} }\r\n{"role":"user"}\n{"role" : "assistant"}'
    assert checkpoint.strip(data) == expected


def test_a_torn_last_line_stays_and_run_state_goes_all_the_same() -> None:
    torn = b'{"role": "assi'
    data = live(user("x"), runtime_checkpoint=POINT) + torn
    assert checkpoint.strip(data) == live(user("x")) + torn
    assert checkpoint.has_run_state(data)


@given(conversations, conversations, run_states, inner, inner)
def test_what_is_put_back_on_another_version_can_be_taken_out_again(
    mine: list[Json], theirs: list[Json], state: Json, my_inner: Json, their_inner: Json
) -> None:
    on_disk = live(*mine, private=True, **my_inner, **state)
    committed = live(*theirs, **their_inner)
    installed = checkpoint.overlay(committed, on_disk)
    assert checkpoint.strip(installed) == committed
    found = session.parse(installed)
    assert found.state == {**their_inner, **state}
    assert bool(found.opaque) == (mine == theirs)


def test_provider_state_comes_back_only_on_the_same_messages() -> None:
    on_disk = live(user("x"), private=True, title="mine")
    assert checkpoint.overlay(live(user("x"), title="theirs"), on_disk) == live(
        user("x"), private=True, title="theirs"
    )
    assert checkpoint.overlay(live(user("y")), on_disk) == live(user("y"))


def test_run_state_comes_back_on_a_version_without_metadata() -> None:
    installed = session.parse(checkpoint.overlay(file_of(user("x")), live(runtime_checkpoint=POINT)))
    assert installed.state == {"runtime_checkpoint": POINT}
    assert installed.messages == (user("x"),)


def test_a_phase_of_a_turn_differs_only_in_run_state() -> None:
    committed = live(user("x"))
    phase = live(user("x"), private=True, runtime_checkpoint=POINT, pending_user_turn=True)
    later = phase.replace(b"10:30:00", b"10:30:07")
    assert checkpoint.differs_only_in_run_state(committed, phase)
    assert checkpoint.differs_only_in_run_state(committed, later)
    assert checkpoint.differs_only_in_run_state(phase, later)
    assert not checkpoint.differs_only_in_run_state(committed, live(user("x"), assistant("y")))
    assert not checkpoint.differs_only_in_run_state(committed, live(user("x"), title="new"))
    assert not checkpoint.differs_only_in_run_state(committed, live(user("x", updated_at="10:30")))


def test_the_state_of_a_turn_is_read_from_the_metadata_or_the_sidecar() -> None:
    parsed = session.parse(live(user("x"), runtime_checkpoint=POINT))
    state = checkpoint.run_state(parsed)
    assert state == checkpoint.RunState("awaiting_tools", 2, 2, POINT)
    sidecar = json.dumps({"version": 1, "session_key": "cli:direct", "checkpoint": POINT}, indent=2).encode()
    bare = session.parse(live(user("x")))
    assert checkpoint.run_state(bare, sidecar) == state
    assert checkpoint.run_state(bare) is None


@pytest.mark.parametrize(
    "sidecar",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"checkpoint": "x"}',
        b'{"session_key": "cli:b", "checkpoint": {"phase": "x"}}',
    ],
)
def test_a_sidecar_that_is_damaged_or_of_another_session_holds_nothing(sidecar: bytes | None) -> None:
    assert checkpoint.run_state(session.parse(live(user("x"))), sidecar) is None


@pytest.mark.parametrize("name", ["pending_user_turn", "_pending_user_turn"])
def test_a_waiting_user_message_is_a_state_of_a_turn(name: str) -> None:
    assert checkpoint.run_state(session.parse(live(user("x"), **{name: True}))) == checkpoint.RunState(
        "pending_user_turn", 0, 0, None
    )
    assert checkpoint.run_state(session.parse(live(user("x"), **{name: False}))) is None
    assert checkpoint.is_mid_turn(live(user("x"), **{name: True}))


def test_malformed_checkpoints_are_described_all_the_same() -> None:
    odd = session.parse(live(runtime_checkpoint={"phase": 5, "iteration": "x", "pending_tool_calls": "B"}))
    state = checkpoint.run_state(odd)
    assert state is not None
    assert (state.phase, state.iteration, state.pending) == ("unknown", 0, 0)
    assert checkpoint.run_state(session.parse(live(runtime_checkpoint="awaiting_tools"))) is None


def test_provider_state_alone_is_machine_local_but_no_turn() -> None:
    data = live(user("x"), tool("a"), private=True)
    assert checkpoint.has_run_state(data)
    assert not checkpoint.is_mid_turn(data)
    assert session.render(replace(session.parse(data), opaque=())) == checkpoint.strip(data)
