"""Which messages are archived, and what a summary is worth."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import consolidation
from gitmem.core.completion import Answer, Usage
from gitmem.core.consolidation import Chunk
from gitmem.core.conversation import is_legal, open_calls
from gitmem.core.history import MAX_RAW, MAX_SUMMARY
from gitmem.core.session import Session
from gitmem.core.transcript import transcript
from gitmem.errors import ModelError
from tests.engines import said, talk


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """A legal conversation, some of it archived up to a turn's beginning."""
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        messages.append({"role": "user", "content": f"u{number}"})
        for step in range(draw(st.integers(0, 2))):
            ids = [f"c{number}-{step}-{n}" for n in range(draw(st.integers(1, 2)))]
            calls = [
                {"id": name, "type": "function", "function": {"name": "t", "arguments": "{}"}} for name in ids
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": name, "content": "x" * draw(st.integers(0, 50))}
                for name in ids
            ]
        messages.append({"role": "assistant", "content": f"a{number}"})
    starts = [0, *(place for place, message in enumerate(messages) if message["role"] == "user")]
    return Session(messages=tuple(messages), last_consolidated=draw(st.sampled_from(starts)))


CALL = {"type": "function", "function": {"name": "t", "arguments": "{}"}}


@st.composite
def going_on(draw: st.DrawFn) -> Session:
    """A legal conversation in the middle of a turn: calls at its end, some with their results already."""
    session = draw(sessions())
    ids = [f"open{n}" for n in range(draw(st.integers(1, 12)))]
    done = ids[: draw(st.integers(0, len(ids)))]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": name} for name in ids]},
        *({"role": "tool", "tool_call_id": name, "content": "ok"} for name in done),
    ]
    return replace(session, messages=(*session.messages, *messages))


def splits_a_call(session: Session, place: int) -> bool:
    """Whether a cut there would part a call from one of its results, of those to come too."""
    before, after = session.messages[:place], session.messages[place:]
    if not before or (after and after[0]["role"] != "tool" and not open_calls(before)):
        return False
    return bool(open_calls(before)) or bool(after and after[0]["role"] == "tool")


def cost(messages: Any) -> int:
    return sum(len(str(message.get("content"))) for message in messages)


@given(sessions(), st.integers(1, 300), st.integers(0, 200))
def test_pressure_takes_whole_turns_and_no_more_than_it_takes(
    session: Session, budget: int, target: int
) -> None:
    chunk = consolidation.under_pressure(session, budget, target, cost)
    left = cost(session.messages[session.last_consolidated :])
    if chunk is None:
        turns = [m for m in session.messages[session.last_consolidated + 1 :] if m["role"] == "user"]
        assert left < budget or not turns
        return
    assert left >= budget
    assert chunk.start == session.last_consolidated < chunk.end
    assert session.messages[chunk.end]["role"] == "user"
    assert is_legal(session.messages[chunk.start : chunk.end])
    shorter = [p for p in range(chunk.start + 1, chunk.end) if session.messages[p]["role"] == "user"]
    assert all(cost(session.messages[place:]) > target for place in shorter)


@given(sessions(), st.integers(0, 20))
def test_archiving_down_to_a_suffix_takes_each_message_once_and_can_be_cut_then(
    session: Session, kept: int
) -> None:
    taken: list[Any] = []
    while chunk := consolidation.down_to_suffix(session, kept):
        assert chunk.start == session.last_consolidated
        taken += session.messages[chunk.start : chunk.end]
        session = consolidation.archived(session, chunk, "summary", "2026-01-05T10:00:00")
    after = consolidation.cut(session, kept)
    dropped = len(session.messages) - len(after.messages)
    assert dropped <= session.last_consolidated
    assert after.last_consolidated == session.last_consolidated - dropped
    assert after.messages == session.messages[dropped:]
    assert is_legal(after.messages)
    assert session.state.get("_last_summary", {}).get("text") == ("summary" if taken else None)


def test_an_open_call_is_not_archived() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    session = Session(
        messages=({"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]})
    )
    assert consolidation.everything(session) is None


def test_the_question_holds_the_chunk_and_earlier_messages_as_context() -> None:
    session = Session(messages=tuple(talk(6)), last_consolidated=4)
    asked = consolidation.prompt(session, Chunk(4, 8), len, 10_000)[1]["content"]
    earlier, _, chunk = asked.partition("<messages>")
    assert "m03" in earlier
    assert "m04" in chunk
    assert "m07" in chunk
    assert "m08" not in asked


def test_long_messages_are_shortened_in_the_question_until_it_fits() -> None:
    session = Session(messages=tuple({**said(n), "content": "x" * 50_000} for n in range(4)))
    asked = consolidation.prompt(session, Chunk(0, 4), len, 8_000)[1]["content"]
    assert len(asked) < 9_000
    assert "left out" in asked


def answer(text: str) -> Answer:
    return Answer(text, (), Usage(), {})


@pytest.mark.parametrize("text", ["(nothing)", "Nothing.", "- (nothing)"])
def test_nothing_is_a_summary(text: str) -> None:
    assert consolidation.checked_summary(answer(text), talk(1)) == consolidation.NOTHING


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "tool-calls"),
        ("Error calling the model: overloaded (529), please retry", "error"),
        ('{"history_entry": "x"}', "garbled"),
        (transcript(talk(3)), "echo"),
    ],
)
def test_b80_b81_what_is_no_summary_is_not_stored(text: str, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        consolidation.checked_summary(answer(text), talk(3))
    assert caught.value.reason == reason


Archive = Callable[[Session], Chunk | None]


def everything_taken(session: Session, choose: Archive) -> tuple[list[Any], Session]:
    """Archive until nothing is left to do; each chunk goes on where the last one ended, and parts no call."""
    taken: list[Any] = []
    while chunk := choose(session):
        assert session.last_consolidated == chunk.start < chunk.end <= len(session.messages)
        assert len(chunk) == chunk.end - chunk.start
        assert not splits_a_call(session, chunk.end)
        taken += session.messages[chunk.start : chunk.end]
        session = consolidation.archived(session, chunk, "s", "2026-01-05T10:00:00")
    return taken, session


@given(sessions() | going_on(), st.integers(0, 20))
def test_no_way_of_choosing_parts_a_call_from_its_results_or_takes_a_message_twice(
    session: Session, kept: int
) -> None:
    ways: list[Archive] = [
        consolidation.everything,
        lambda now: consolidation.down_to_suffix(now, kept),
        lambda now: consolidation.under_pressure(now, 40, kept, cost),
    ]
    for choose in ways:
        taken, after = everything_taken(session, choose)
        assert taken == list(session.messages[session.last_consolidated : after.last_consolidated])
        assert after.messages == session.messages


@given(sessions())
def test_all_there_is_is_archived_unless_a_call_is_open(session: Session) -> None:
    _, after = everything_taken(session, consolidation.everything)
    assert after.last_consolidated == len(session.messages)


@given(going_on(), st.integers(0, 20))
def test_calls_under_way_stay_with_the_results_they_have(session: Session, kept: int) -> None:
    _, after = everything_taken(session, lambda now: consolidation.down_to_suffix(now, kept))
    after = consolidation.cut(after, kept)
    missing = open_calls(session.messages)
    assert open_calls(after.messages) == missing
    come = ({"role": "tool", "tool_call_id": name, "content": "late"} for name in missing)
    assert is_legal((*after.messages, *come))
    assert not missing or is_legal(after.messages[after.last_consolidated :])


def test_many_parallel_calls_are_not_archived_before_the_last_one_is_done() -> None:
    ids = [f"c{n}" for n in range(12)]
    calls = {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": name} for name in ids]}
    done = ({"role": "tool", "tool_call_id": name, "content": "ok"} for name in ids[:11])
    session = Session(messages=({"role": "user", "content": "x"}, calls, *done))
    assert consolidation.down_to_suffix(session, 8) == Chunk(0, 1)


@given(sessions(), st.integers(0, 20), st.integers(0, 60))
def test_a_cut_keeps_what_is_not_archived_and_a_legal_list(session: Session, kept: int, mark: int) -> None:
    session = replace(session, last_consolidated=min(mark, len(session.messages)))
    after = consolidation.cut(session, kept)
    assert session.messages[-len(after.messages) :] == after.messages or not after.messages
    unarchived = session.messages[session.last_consolidated :]
    assert after.messages[after.last_consolidated :] == unarchived
    assert is_legal(after.messages)
    assert consolidation.cut(after, kept).messages == after.messages


def test_a_long_tail_is_archived_in_chunks_that_end_with_turns() -> None:
    session = Session(messages=tuple(talk(500)))
    ends: list[int] = []
    while chunk := consolidation.everything(session):
        ends.append(chunk.end)
        session = consolidation.archived(session, chunk, "s", "now")
    assert len(ends) >= 3
    assert all(session.messages[end]["role"] == "user" for end in ends[:-1])
    assert ends[-1] == len(session.messages)


def test_a_single_turn_longer_than_a_chunk_stays_whole() -> None:
    turn = [
        {"role": "user", "content": "go"},
        *({"role": "assistant", "content": "step"} for _ in range(300)),
    ]
    assert consolidation.everything(Session(messages=tuple(turn))) == Chunk(0, 301)
    assert consolidation.under_pressure(Session(messages=tuple(turn)), 10, 5, cost) is None


@pytest.mark.parametrize(
    "text",
    [
        "- [durable] likes tea",
        "Likes tea.",
        "- Error: rates are logged in app.log",
        "\u559c\u6b22\u8336",
        "Nothing but tea.",
    ],
)
def test_a_summary_is_taken_as_it_is(text: str) -> None:
    assert consolidation.checked_summary(answer(text), talk(2)) == text


@pytest.mark.parametrize(
    "text", ["Error: overloaded", "Traceback (most recent call last):\n  x", "x" * 40_000]
)
def test_b80_an_error_text_or_an_endless_one_is_no_summary(text: str) -> None:
    with pytest.raises(ModelError):
        consolidation.checked_summary(answer(text), talk(2))


@given(st.text(max_size=200))
def test_any_text_is_a_summary_or_has_a_reason(text: str) -> None:
    with suppress(ModelError):
        assert consolidation.checked_summary(answer(text), talk(2)) in (text, consolidation.NOTHING)


def test_long_summaries_and_raw_messages_become_entries_that_fit_and_lose_nothing() -> None:
    summary = "".join(f"- fact {n}\n" for n in range(2000))
    parts = consolidation.summary_entries(summary)
    assert "".join(parts) == summary
    assert all(len(part) <= MAX_SUMMARY for part in parts)
    session = Session(messages=tuple({"role": "user", "content": f"m{n} " + "x" * 9000} for n in range(9)))
    entries = consolidation.raw_entries(session, Chunk(2, 7))
    assert all(len(entry) <= MAX_RAW for entry in entries)
    told = "".join(entries)
    assert [n for n in range(9) if f"m{n} " in told] == [2, 3, 4, 5, 6]
    assert told.count("x") == 5 * 9000
