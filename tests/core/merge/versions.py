"""Strategies for three versions of things that a merge gets, and what every merge must do with them."""

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from gitmem.core import jsonl
from tests.core.conversations import Json, file_of

T = TypeVar("T")

THOROUGH = settings(max_examples=300, deadline=None)
"""For the laws of merging."""

TIMES = st.integers(0, 5).map(lambda second: f"2026-03-01T10:00:0{second}")


def always_the_same(
    merge: Callable[[T, T, T], Any], base: T, ours: T, theirs: T, value: Callable[[Any], T]
) -> Any:
    """P2 and P3: the same from both sides; nothing to do where one side changed nothing, or both changed the same."""
    merged = merge(base, ours, theirs)
    assert merged == merge(base, theirs, ours)
    assert value(merge(base, ours, ours)) == ours
    assert value(merge(ours, ours, theirs)) == theirs
    assert value(merge(ours, value(merged), ours)) == value(merged)
    return merged


@st.composite
def three(draw: st.DrawFn, parts: st.SearchStrategy[list[T]]) -> tuple[list[T], list[T], list[T]]:
    """A base, and two sides that removed some of it and put something in."""
    base = draw(parts)
    sides = []
    for _ in range(2):
        removed = draw(st.sets(st.integers(0, 20), max_size=2))
        left = [item for place, item in enumerate(base) if place not in removed]
        new = draw(parts)
        place = draw(st.integers(0, len(left)))
        sides.append(left[:place] + new + left[place:] if draw(st.booleans()) else left + new)
    return base, sides[0], sides[1]


@st.composite
def messages(draw: st.DrawFn) -> list[Json]:
    """A turn, or a part of one; equal ones occur."""
    time = draw(TIMES)
    said: list[Json] = [{"role": "user", "content": draw(st.sampled_from("abc")), "timestamp": time}]
    if draw(st.booleans()):
        name = draw(st.sampled_from(["c1", "c2", "c3", "c4"]))
        ids = [f"{name}{letter}" for letter in "xy"[: draw(st.integers(1, 2))]]
        calls = [
            {"id": one, "function": {"name": "run", "arguments": draw(st.sampled_from(["{}", "[]"]))}}
            for one in ids
        ]
        said.append({"role": "assistant", "content": "", "tool_calls": calls, "timestamp": time})
        content = st.sampled_from(["done", "Error: Task interrupted before this tool finished."])
        said += [
            {"role": "tool", "tool_call_id": one, "content": draw(content), "timestamp": draw(TIMES)}
            for one in ids
        ]
    if draw(st.booleans()):
        said.append({"role": "assistant", "content": draw(st.sampled_from("xyz")), "timestamp": time})
    return said


turns = st.lists(messages(), max_size=3)


@st.composite
def sessions(draw: st.DrawFn, body: list[list[Json]]) -> bytes:
    """A session file of some turns."""
    flat = [message for turn in body for message in turn]
    state = draw(
        st.dictionaries(
            st.sampled_from(["title", "title_user_edited", "goal_state", "runtime_checkpoint"]),
            st.integers(0, 2),
            max_size=3,
        )
    )
    head = {
        "_type": "metadata",
        "key": "cli:a",
        "updated_at": draw(TIMES),
        "metadata": state,
        "last_consolidated": draw(st.integers(0, len(flat))),
    }
    return file_of(head, *flat)


@st.composite
def three_sessions(draw: st.DrawFn) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Three versions of a session; one of them may be missing."""
    files: list[bytes | None] = [draw(sessions(body)) for body in draw(three(turns))]
    missing = draw(st.integers(0, 9))
    if missing < 3:
        files[missing] = None
    return files[0], files[1], files[2]


entries = st.builds(
    lambda text, minute, extra: {"timestamp": f"2026-03-01 10:0{minute}", "content": text, **extra},
    st.text("abcdefgh", min_size=1, max_size=2),
    st.integers(0, 2),
    st.sampled_from([{}, {}, {"session_key": "cli:a"}, {"pinned": True}]),
)


LINES = st.sampled_from(
    b"# T|## A|## B|- a|- b|- c|- a2|  - sub|  more|text|text two|||```|code|---|name: x|1. one|> q|=======|tail\r|".split(
        b"|"
    )
)


def markdown_of(lines: list[bytes]) -> bytes:
    """A file of these lines."""
    return b"".join(line + b"\n" for line in lines)


@st.composite
def three_texts(
    draw: st.DrawFn, lines: st.SearchStrategy[bytes] = LINES
) -> tuple[bytes | None, bytes, bytes]:
    """Three versions of a Markdown file."""
    base, ours, theirs = (markdown_of(side) for side in draw(three(st.lists(lines, max_size=6))))
    if draw(st.integers(0, 5)) == 0:
        ours = ours.replace(b"\n", b"\r\n")
    return (None if draw(st.integers(0, 7)) == 0 else base), ours, theirs


TIDY = LINES.map(lambda line: b"```\n\n- a\n```" if line == b"```" else line.rstrip(b"\r"))
"""Lines of files in which every fenced block is closed and no line ends with a CR of its own: what a fence without an end pairs
with, and whether a CR belongs to a line or to its ending, depends on the other lines."""


def values(data: bytes) -> list[Any]:
    """The records of a file."""
    return [line.value for line in jsonl.parse(data).records]
