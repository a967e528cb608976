"""Interrupted turns: every call ends with one result, real ones win, and doing it twice is doing it once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import jsonl, session
from gitmem.core.conversation import INTERRUPTED, declared, is_legal, is_stub, open_calls
from gitmem.core.replay import NO_RESPONSE, Replay, replay
from tests.core.conversations import (
    Json,
    assistant,
    call,
    conversations,
    file_of,
    metadata,
    roles,
    tool,
    user,
)

NOW = "2026-03-01T12:00:00.000001"
PRIVATE = {"_type": "provider_state", "state": 1}


def point(head: Any, done: Any = (), pending: Any = (), **more: Any) -> Json:
    return {
        "phase": "awaiting_tools",
        "assistant_message": head,
        "completed_tool_results": list(done) if isinstance(done, tuple) else done,
        "pending_tool_calls": [call(name) for name in pending] if isinstance(pending, tuple) else pending,
        **more,
    }


def half_turn(checkpoint: Any, *messages: Json, mark: int = 0, **state: Any) -> bytes:
    return file_of(metadata(mark=mark, runtime_checkpoint=checkpoint, **state), *messages)


def replayed(data: bytes, **more: Any) -> Replay:
    result = replay(data, now=NOW, **more)
    assert result is not None
    return result


def messages_of(data: bytes) -> list[Json]:
    """The messages without their times."""
    return [{k: v for k, v in m.items() if k != "timestamp"} for m in session.parse(data).messages]


def stub(name: str, tool_name: str = "exec") -> Json:
    return tool(name, INTERRUPTED, tool_name)


HEAD = assistant("working", "a", "b", "c")
ASK = user("do three things")


def test_a_turn_before_its_tools_gets_an_interrupted_result_for_each_call() -> None:
    data = half_turn(point(HEAD, (), ("a", "b", "c")), ASK, pending_user_turn=True, title="t")
    result = replayed(data)
    expected = [metadata(title="t") | {"updated_at": NOW}, ASK, HEAD | {"timestamp": NOW}]
    assert result.session == file_of(*expected, *(stub(name) | {"timestamp": NOW} for name in "abc"))
    assert (result.assistants, result.results, result.interrupted, result.set_aside) == (1, 0, 3, ())


def test_real_results_are_kept_and_only_the_rest_is_interrupted() -> None:
    done = tool("b", "result")
    result = replayed(half_turn(point(HEAD, (done,), ("a", "c")), ASK))
    assert messages_of(result.session) == [ASK, HEAD, done, stub("a"), stub("c")]
    assert (result.assistants, result.results, result.interrupted) == (1, 1, 2)


def test_messages_keep_the_time_they_have() -> None:
    head = HEAD | {"timestamp": "2026-03-01T10:00:00"}
    result = replayed(half_turn(point(head, (tool("a"),), ("b", "c")), ASK))
    times = [m.get("timestamp") for m in session.parse(result.session).messages]
    assert times == [None, "2026-03-01T10:00:00", NOW, NOW, NOW]


def test_a_final_answer_that_was_not_stored_is_stored() -> None:
    result = replayed(half_turn(point(assistant("all done")), ASK))
    assert messages_of(result.session) == [ASK, assistant("all done")]
    assert (result.assistants, result.results, result.interrupted) == (1, 0, 0)


@pytest.mark.parametrize("stored", [0, 1, 2, 3, 4])
def test_what_was_stored_already_is_not_added_again(stored: int) -> None:
    done = (tool("a", "1"), tool("b", "2"), tool("c", "3"))
    kept = [HEAD | {"latency_ms": 5}, *done][:stored]
    result = replayed(half_turn(point(HEAD, done), ASK, *kept))
    assert messages_of(result.session) == [ASK, *kept, *[HEAD, *done][stored:]]
    assert result.assistants + result.results == 4 - stored


def test_a_real_result_beats_a_stub_wherever_each_of_them_is() -> None:
    both = replayed(half_turn(point(HEAD, (tool("a"), tool("b")), ("b", "c")), ASK))
    assert messages_of(both.session) == [ASK, HEAD, tool("a"), tool("b"), stub("c")]
    stored_stub = replayed(
        half_turn(point(HEAD, (tool("a"), tool("b", "real"))), ASK, HEAD, tool("a"), stub("b"))
    )
    assert messages_of(stored_stub.session) == [ASK, HEAD, tool("a"), tool("b", "real"), stub("c")]
    stored_real = replayed(half_turn(point(HEAD, (), ("a", "b", "c")), ASK, HEAD, tool("c", "real")))
    assert messages_of(stored_real.session) == [ASK, HEAD, tool("c", "real"), stub("a"), stub("b")]
    in_list = replayed(half_turn(point(HEAD, (stub("a"), tool("a", "real")), ("b", "c")), ASK))
    assert messages_of(in_list.session) == [ASK, HEAD, tool("a", "real"), stub("b"), stub("c")]


def test_a_stored_result_that_the_agent_shortened_is_the_result() -> None:
    result = replayed(
        half_turn(point(HEAD, (tool("a", "long text"),), ("b", "c")), ASK, HEAD, tool("a", "long..."))
    )
    assert messages_of(result.session) == [ASK, HEAD, tool("a", "long..."), stub("b"), stub("c")]


def test_results_that_nobody_asked_for_are_set_aside() -> None:
    other = tool("a", "another")
    result = replayed(half_turn(point(HEAD, (tool("a"), tool("z"), other, tool("a"), 7), ("b", "c")), ASK))
    assert messages_of(result.session) == [ASK, HEAD, tool("a"), stub("b"), stub("c")]
    assert [json.loads(text) for text in result.set_aside] == [tool("z"), other, 7]


@pytest.mark.parametrize(
    "checkpoint",
    [
        "awaiting_tools",
        None,
        5,
        [],
        {},
        point(None, (tool("a"),), ("b",)),
        point("x"),
        point(user("not mine")),
    ],
)
def test_a_checkpoint_without_an_assistant_message_stays_for_inspection(checkpoint: Any) -> None:
    data = half_turn(checkpoint, ASK)
    assert replay(data, now=NOW) is None
    waiting = replayed(half_turn(checkpoint, ASK, pending_user_turn=True))
    assert messages_of(waiting.session) == [ASK, assistant(NO_RESPONSE)]
    assert session.parse(waiting.session).state == {"runtime_checkpoint": checkpoint}
    assert replay(waiting.session, now="later") is None


@pytest.mark.parametrize(
    ("done", "pending"),
    [
        ({"a": "x"}, "b"),
        (None, None),
        (
            [None, 3, "a", {}, {"role": "user", "tool_call_id": "a"}],
            ["a", {"id": "b"}, {"function": {}}, None],
        ),
        ((), ("z",)),
    ],
)
def test_malformed_lists_of_a_checkpoint_cost_no_call_its_result(done: Any, pending: Any) -> None:
    result = replayed(half_turn(point(HEAD, done, pending), ASK))
    assert messages_of(result.session) == [ASK, HEAD, stub("a"), stub("b"), stub("c")]


@pytest.mark.parametrize("calls", [None, [], "x", [None], [{"id": 3}]])
def test_an_assistant_message_with_malformed_calls_is_kept(calls: Any) -> None:
    head = assistant("x", tool_calls=calls)
    assert messages_of(replayed(half_turn(point(head), ASK)).session) == [ASK, head]


def test_an_identical_earlier_turn_is_not_the_stored_copy() -> None:
    earlier = [ASK, HEAD, tool("a"), tool("b"), tool("c"), assistant("done")]
    result = replayed(half_turn(point(HEAD, (tool("a"),), ("b", "c")), *earlier, ASK))
    assert messages_of(result.session) == [*earlier, ASK, HEAD, tool("a"), stub("b"), stub("c")]
    answer = replayed(half_turn(point(assistant("yes")), ASK, assistant("yes"), assistant("no")))
    assert messages_of(answer.session) == [ASK, assistant("yes"), assistant("no"), assistant("yes")]


def test_archived_messages_and_the_archive_mark_stay() -> None:
    data = half_turn(point(HEAD, (), ("a", "b", "c")), user("old"), assistant("old"), ASK, mark=3)
    parsed = session.parse(replayed(data).session)
    assert parsed.last_consolidated == 3
    assert roles(session.unarchived(parsed)) == "attt"


def test_untouched_lines_keep_their_bytes() -> None:
    lines = b'{"role":"user" , "n":1e-7, "content":"caf\\u00e9"}\r\n{"role": "assi\n{"_type":"note"}\n'
    data = half_turn(point(HEAD, (), ("a", "b", "c"))) + lines
    result = replayed(data)
    assert lines in result.session
    assert replay(result.session, now="later") is None


def test_provider_state_goes_when_the_messages_it_was_bound_to_are_no_longer_all() -> None:
    data = file_of(metadata(runtime_checkpoint=point(assistant("x"))), PRIVATE, {"_type": "note"}, ASK)
    assert session.parse(replayed(data).session).opaque == ({"_type": "note"},)
    stored = file_of(metadata(runtime_checkpoint=point(assistant("x"))), PRIVATE, ASK, assistant("x"))
    assert session.parse(replayed(stored).session).opaque == (PRIVATE,)


@pytest.mark.parametrize("name", ["pending_user_turn", "_pending_user_turn"])
def test_a_user_whose_turn_never_began_gets_an_answer(name: str) -> None:
    result = replayed(file_of(metadata() | {"metadata": {"title": "t", name: True}}, ASK))
    assert messages_of(result.session) == [ASK, assistant(NO_RESPONSE)]
    assert session.parse(result.session).state == {"title": "t"}
    assert result.assistants == 1
    assert replay(result.session, now="later") is None


def test_a_mark_without_a_waiting_message_is_only_dropped() -> None:
    for messages in ([], [ASK, assistant("x")]):
        result = replayed(file_of(metadata(pending_user_turn=True), *messages))
        assert messages_of(result.session) == messages
        assert session.parse(result.session).state == {}


def test_nothing_to_replay_is_nothing() -> None:
    for data in (b"", b"\xff", file_of(metadata(pending_user_turn=False), ASK), file_of(ASK, HEAD)):
        assert replay(data, now=NOW) is None


# Checkpoints in a file beside the session (nanobot 0.3.5 and later).


def sidecar_of(
    checkpoint: Any, count: int = 1, updated: str = "2026-03-01T10:30:00", key: str = "cli:direct"
) -> bytes:
    holder = {"version": 1, "session_key": key, "base_updated_at": updated, "base_message_count": count}
    return json.dumps({**holder, "checkpoint": checkpoint, "provider_state": None}, indent=1).encode()


def test_a_checkpoint_beside_the_session_is_the_same_thing() -> None:
    inside = half_turn(point(HEAD, (tool("a"),), ("b", "c")), ASK, pending_user_turn=True)
    beside = file_of(metadata(pending_user_turn=True), ASK)
    sidecar = sidecar_of(point(HEAD, (tool("a"),), ("b", "c")))
    result = replayed(beside, sidecar=sidecar)
    assert result == replayed(inside)
    assert replayed(result.session, sidecar=sidecar).session == result.session


def test_a_sidecar_left_over_after_its_turn_was_saved_adds_nothing() -> None:
    later = [ASK, assistant("all done"), user("more"), assistant("yes")]
    data = file_of(metadata(), *later)
    assert replayed(data, sidecar=sidecar_of(point(assistant("all done")))) == Replay(data)


@pytest.mark.parametrize("sidecar", [b"", b"{", sidecar_of("x"), sidecar_of(point(HEAD), key="cli:other")])
def test_a_sidecar_that_holds_nothing_for_us_is_no_turn(sidecar: bytes) -> None:
    assert replay(file_of(metadata(), ASK), now=NOW, sidecar=sidecar) is None


# Iterations before the last one (deep replay).


def test_earlier_iterations_of_the_turn_come_back_in_order() -> None:
    first, second, last = assistant("", "c0"), assistant("", "c1"), assistant("", "c2")
    versions = [
        file_of(metadata(pending_user_turn=True), ASK),
        half_turn(point(first, (), ("c0",), iteration=0), ASK),
        half_turn(point(first, (tool("c0", "zero"),), iteration=0), ASK),
        half_turn(point(second, (), ("c1",), iteration=1), ASK),
        half_turn(point(last, (), ("c2",), iteration=2), ASK),
    ]
    result = replayed(versions[-1], earlier=versions)
    assert messages_of(result.session) == [
        ASK,
        first,
        tool("c0", "zero"),
        second,
        stub("c1"),
        last,
        stub("c2"),
    ]
    assert (result.assistants, result.results, result.interrupted) == (3, 1, 2)


def test_iterations_of_other_turns_and_of_earlier_attempts_do_not_come_back() -> None:
    other = half_turn(point(assistant("", "old"), (), ("old",), iteration=0), user("another question"))
    attempt = half_turn(point(assistant("", "try"), (), ("try",), iteration=3), ASK)
    first = half_turn(point(assistant("", "c0"), (), ("c0",), iteration=0), ASK)
    last = half_turn(point(assistant("", "c1"), (), ("c1",), iteration=1), ASK)
    result = replayed(last, earlier=[other, b"\xff", attempt, first, last])
    assert messages_of(result.session) == [
        ASK,
        assistant("", "c0"),
        stub("c0"),
        assistant("", "c1"),
        stub("c1"),
    ]
    again = half_turn(point(assistant("", "c9"), (), ("c9",), iteration=1), ASK, assistant("x"), ASK)
    assert roles(messages_of(replayed(again, earlier=[first, last]).session)) == "uauat"


def test_an_iteration_stored_by_the_agent_that_came_first_gets_the_earlier_ones_before_it() -> None:
    first = half_turn(point(assistant("", "c0"), (tool("c0"),), iteration=0), ASK)
    last = half_turn(
        point(assistant("", "c1"), (), ("c1",), iteration=1), ASK, assistant("", "c1"), stub("c1")
    )
    result = replayed(last, earlier=[first])
    assert messages_of(result.session) == [
        ASK,
        assistant("", "c0"),
        tool("c0"),
        assistant("", "c1"),
        stub("c1"),
    ]


def test_earlier_sidecars_of_the_same_turn_come_back() -> None:
    data = file_of(metadata(), ASK)
    first, last = assistant("", "c0"), assistant("", "c1")
    earlier = [
        sidecar_of(point(assistant("", "x"), (), ("x",), iteration=0), updated="before"),
        data,
        sidecar_of(point(first, (tool("c0"),), iteration=0)),
    ]
    result = replayed(data, sidecar=sidecar_of(point(last, (), ("c1",), iteration=1)), earlier=earlier)
    assert messages_of(result.session) == [ASK, first, tool("c0"), last, stub("c1")]


def test_the_same_call_made_again_and_again_is_made_as_often_as_it_was() -> None:
    head = assistant("", "call_0")
    versions = [half_turn(point(head, (tool("call_0"),), iteration=n), ASK) for n in range(3)]
    assert roles(messages_of(replayed(versions[-1], earlier=versions).session)) == "uatatat"


@dataclass(frozen=True)
class Killed:
    """A turn that was killed, and what a perfect replay makes of it."""

    data: bytes
    earlier: list[bytes]
    expected: list[Json]
    base: list[Json]


@st.composite
def killed_turns(draw: st.DrawFn) -> Killed:
    base = draw(conversations)
    request = user(draw(st.sampled_from(["do it", "yes"])))
    count = draw(st.integers(1, 4))
    reused = draw(st.booleans())
    steps: list[tuple[Json, list[Json]]] = []
    for number in range(count):
        ids = [
            f"c0{letter}" if reused else f"n{number}{letter}" for letter in "ab"[: draw(st.integers(1, 2))]
        ]
        text = f"step {number}" if reused else draw(st.sampled_from(["", "step"]))
        steps.append((assistant(text, *ids), [tool(name, f"result {number}") for name in ids]))
    if draw(st.booleans()):
        steps[-1] = (assistant("final"), [])
    stored = draw(st.integers(0, count))
    stored_results = [results for _, results in steps[:stored]]
    if stored == count:
        stored_results[-1] = stored_results[-1][draw(st.integers(0, 2)) :]
    kept = [m for (head, _), results in zip(steps, stored_results, strict=False) for m in (head, *results)]
    versions: list[bytes] = []
    expected: list[Json] = [*base, request]
    state = b""
    for number, (head, results) in enumerate(steps):
        names = tuple(declared(head))
        phases = [point(head, (), names, iteration=number), point(head, tuple(results), iteration=number)]
        last = number == count - 1
        seen = draw(st.sampled_from([(0,), (0, 1), (1,)]))
        for phase in seen:
            body = kept if last and phase == seen[-1] else []
            state = half_turn(phases[phase], *base, request, *body)
            versions.append(state)
        known = results if 1 in seen else stored_results[number] if number < stored else []
        expected += [head, *(r if r in known else stub(r["tool_call_id"]) for r in results)]
    return Killed(state, versions, expected, base)


def sorted_results(messages: Sequence[Json]) -> list[Json]:
    """Results of one call in a fixed order: those stored come before those added, and both orders are legal."""
    out: list[Json] = []
    start = 0
    for message in messages:
        if message["role"] != "tool":
            start = len(out) + 1
        out.append(message)
        out[start:] = sorted(out[start:], key=lambda m: str(m.get("tool_call_id")))
    return out


@given(killed_turns())
def test_any_killed_turn_becomes_legal_complete_and_stays_so(killed: Killed) -> None:
    result = replayed(killed.data, earlier=killed.earlier)
    found = messages_of(result.session)
    assert is_legal(found)
    assert not open_calls(found)
    assert sorted_results(found) == sorted_results(killed.expected)
    assert replay(result.session, now="later", earlier=killed.earlier) is None
    back = jsonl.decode(killed.data.partition(b"\n")[0])
    assert back is not None
    back["updated_at"] = NOW
    with_checkpoint = jsonl.dump(back) + b"\n" + result.session.partition(b"\n")[2]
    again = replayed(with_checkpoint, earlier=killed.earlier)
    assert (again.assistants, again.results, again.interrupted) == (0, 0, 0)
    assert again.session.partition(b"\n")[2] == result.session.partition(b"\n")[2]
    assert file_of(*killed.base) in result.session
    added = len(found) - len(messages_of(killed.data))
    assert result.assistants + result.results + result.interrupted >= added


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "assistant", "tool"]),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "role", "tool_calls", "tool_call_id", "function"]), children, max_size=3
        )
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "assistant_message": json_values | st.just(HEAD),
            "completed_tool_results": json_values,
            "pending_tool_calls": json_values,
            "iteration": json_values,
            "phase": json_values,
        },
    ),
    conversations,
    st.booleans(),
)
def test_no_checkpoint_breaks_a_legal_list(checkpoint: Json, messages: list[Json], pending: bool) -> None:
    data = half_turn(checkpoint, *messages, pending_user_turn=pending)
    result = replay(data, now=NOW, earlier=[data, data])
    if result is not None:
        found = session.parse(result.session).messages
        assert is_legal(found)
        assert list(found[: len(messages)]) == messages
        assert sum(map(is_stub, found)) >= result.interrupted
        assert replay(result.session, now="later", earlier=[data]) is None
