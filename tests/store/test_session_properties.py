"""Random sessions and random stories: lists stay legal, marks keep their meaning, and no byte of others is lost."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.core.conversation import is_legal
from gitmem.core.session import Session, unarchived
from gitmem.errors import StaleSession
from gitmem.store import SessionStore

KEY = "k:x"


def turn(number: int, *, tool: bool) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [
        {"role": "user", "content": f"u{number}", "odd": [number, {"b": 1.50, "a": None}]}
    ]
    if tool:
        function = {"name": "t", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "name": "t", "content": f"r{number}"})
    return [*said, {"role": "assistant", "content": f"a{number}"}]


def name(message: Any) -> str:
    return str(message.get("content") or message["tool_calls"][0]["id"])


class Story:
    """Two programs that use one session, each with what it loaded last, and what must be true of it."""

    def __init__(self, root: Path) -> None:
        self.stores = [SessionStore(root, fsync=False), SessionStore(root, fsync=False)]
        self.held = [store.load(KEY) for store in self.stores]
        self.said: dict[str, bytes] = {}
        self.dropped: set[str] = set()
        self.archived: set[str] = set()

    def save(self, who: int, changed: Session) -> None:
        added = [message for message in changed.messages if name(message) not in self.said]
        dropped = {name(message) for message in self.held[who].messages} - {name(m) for m in changed.messages}
        try:
            self.held[who] = self.stores[who].save(changed)
        except StaleSession:
            self.held[who] = self.stores[who].load(KEY)
            return
        self.said |= {name(message): json.dumps(message).encode() for message in added}
        self.dropped |= dropped
        self.archived |= {name(message) for message in changed.messages[: changed.last_consolidated]}

    def step(self, number: int, who: int, what: str, size: int) -> None:
        known = self.held[who]
        if what in ("say", "tool"):
            self.save(who, replace(known, messages=(*known.messages, *turn(number, tool=what == "tool"))))
        elif what == "archive":
            self.save(who, replace(known, last_consolidated=min(size, len(known.messages))))
        elif what == "title":
            state = {**known.state, f"title{who}": number}
            self.save(who, replace(known, metadata={**known.metadata, "metadata": state}))
        elif what == "retain":
            before = self.stores[who].load(KEY).messages
            after = self.stores[who].retain(KEY, size).messages
            self.dropped |= {name(message) for message in before} - {name(message) for message in after}
        elif what == "checkpoint":
            self.stores[who].set_checkpoint(KEY, {"phase": "awaiting_tools", "iteration": number})
        else:
            self.held[who] = self.stores[who].load(KEY)

    def check(self, folder: Path) -> None:
        now = self.stores[0].load(KEY)
        assert now.problems == ()
        assert is_legal(now.messages)
        names = [name(message) for message in now.messages]
        assert max(Counter(names).values(), default=0) <= 1
        assert set(self.said) - set(names) <= self.dropped
        assert {name(message) for message in now.messages[: now.last_consolidated]} <= self.archived
        path = folder / "k_x.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        assert sum(b'"_type"' in line for line in lines) <= 1
        assert all(self.said[told] in lines for told in names)


WHAT = st.sampled_from(["say", "tool", "archive", "title", "retain", "checkpoint", "load"])
STEPS = st.lists(st.tuples(st.integers(0, 1), WHAT, st.integers(0, 9)), max_size=14)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_two_programs_with_one_session_lose_no_message_and_hide_none(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int]]
) -> None:
    root = tmp_path_factory.mktemp("ws")
    story = Story(root)
    for number, (who, what, size) in enumerate(steps):
        story.step(number, who, what, size)
        story.check(root / "sessions")


ODD_LINES = st.sampled_from(
    [
        b'{"role":"user",  "content":"x", "z": 1e-7, "new": {"a":[1,  2]}}',
        b'{"content": "caf\\u00e9", "role": "assistant", "f": 0.10, "g": 1E400}',
        b'{"role": "user", "content": [{"type": "text", "text": "\\u2028"}], "media": ["a.png"]}',
        b'{"_type": "later_kind", "blob":   "x"}',
        b'{"_type": "provider_state", "blob":   "y"}',
        b'{"broken": ',
        b"\xff\xfe not text",
        b"[1, 2, 3]",
        b"12",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ODD_LINES, max_size=8), st.integers(-1, 9), STEPS)
def test_lines_and_fields_that_are_unknown_keep_every_byte(
    tmp_path_factory: pytest.TempPathFactory, odd: list[bytes], mark: int, steps: list[tuple[int, str, int]]
) -> None:
    root = tmp_path_factory.mktemp("ws")
    path = root / "sessions" / "k_x.jsonl"
    path.parent.mkdir()
    head = (
        b'{"_type":"metadata","key":"k:x","more":  [1.50],"metadata":{"own": {"b":1}},"last_consolidated":%d}'
    )
    path.write_bytes(b"".join(line + b"\n" for line in [head % mark, *odd]))
    store = SessionStore(root, fsync=False)
    for number, (_, what, _) in enumerate(steps):
        known = store.load(KEY)
        if what in ("say", "tool"):
            store.save(replace(known, messages=(*known.messages, *turn(number, tool=what == "tool"))))
        elif what == "archive":
            store.save(replace(known, last_consolidated=len(known.messages)))
        elif what == "checkpoint":
            store.set_checkpoint(KEY, {"phase": "awaiting_tools"})
            store.clear_checkpoint(KEY)
        elif what == "title":
            store.update_metadata(KEY, {"title": number})
        now = path.read_bytes().split(b"\n")
        assert not Counter(odd) - Counter(now)
        assert b'"more":  [1.50]' in now[0]
        assert b'"own": {"b":1}' in now[0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.booleans(), min_size=1, max_size=6), st.integers(1, 7), st.integers(0, 20), st.integers(0, 12)
)
def test_forks_and_suffixes_are_legal_parts_of_the_list(
    tmp_path_factory: pytest.TempPathFactory, tools: list[bool], before: int, mark: int, count: int
) -> None:
    store = SessionStore(tmp_path_factory.mktemp("ws"), fsync=False)
    told = tuple(message for number, tool in enumerate(tools) for message in turn(number, tool=tool))
    fresh = store.load(KEY)
    known = store.save(replace(fresh, messages=told, last_consolidated=min(mark, len(told))))
    if 2 <= before <= len(tools) + 1:
        made = store.fork(KEY, before, "k:y")
        assert made.messages == told[: len(made.messages)]
        assert [message["role"] for message in made.messages].count("user") == before - 1
        assert made.last_consolidated in (0, known.last_consolidated)
        assert is_legal(made.messages)
        lines = (store.folder / "k_x.jsonl").read_bytes().split(b"\n")
        assert set((store.folder / "k_y.jsonl").read_bytes().split(b"\n")[1:]) <= set(lines)
    kept = store.retain(KEY, count)
    assert kept.messages == told[len(told) - len(kept.messages) :]
    assert len(kept.messages) <= count
    assert is_legal(kept.messages)
    assert set(map(name, unarchived(kept))) >= set(map(name, unarchived(known))) & set(
        map(name, kept.messages)
    )
