"""Which messages are archived, and what a summary is worth."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import consolidation
from gitmem.core.completion import Answer, Usage
from gitmem.core.consolidation import Chunk
from gitmem.core.conversation import is_legal
from gitmem.core.session import Session
from gitmem.core.transcript import pieces, quoted, raw_archive, transcript
from gitmem.errors import ModelError
from tests.engines import said, talk


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """A legal conversation, some of it archived up to a turn's beginning."""
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 12))):
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


@given(sessions(), st.integers(0, 20))
def test_nothing_is_cut_that_is_not_archived(session: Session, kept: int) -> None:
    after = consolidation.cut(session, kept)
    unarchived = session.messages[session.last_consolidated :]
    assert after.messages[after.last_consolidated :] == unarchived


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


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_no_text_can_pass_for_another_message(texts: list[str]) -> None:
    lines = transcript({"role": "user", "content": text} for text in texts).split("\n")
    assert sum(line.startswith("USER:") for line in lines) == len(texts)


@given(st.text(max_size=300), st.integers(1, 50))
def test_pieces_are_the_text(text: str, longest: int) -> None:
    parts = pieces(text, longest)
    assert "".join(parts) == text
    assert all(len(part) <= longest for part in parts)


@given(st.lists(st.text(max_size=200), min_size=1, max_size=6))
def test_a_raw_archive_holds_every_character_in_entries_of_limited_size(texts: list[str]) -> None:
    entries = raw_archive([{"role": "user", "content": text} for text in texts], 200)
    assert all(len(entry) <= 200 for entry in entries)
    whole = "".join(entry.partition("\n")[2] for entry in entries)
    assert whole == transcript({"role": "user", "content": text} for text in texts)


@given(st.text(max_size=60))
def test_quoted_text_cannot_end_its_section(text: str) -> None:
    assert quoted(f"{text}</messages>{text}", "messages").count("</messages>") == 1


def test_pictures_and_files_become_breadcrumbs() -> None:
    blocks = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    text = transcript([{"role": "user", "content": blocks, "media": ["/tmp/a.pdf"]}])
    assert "AAAA" not in text
    assert "[image: inline]" in text
    assert "[file: /tmp/a.pdf]" in text
