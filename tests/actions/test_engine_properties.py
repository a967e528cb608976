"""Whatever is done in whatever order: lists stay legal, marks keep their meaning, cursors rise, Dream skips nothing."""

import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.core.completion import Answer, Usage, read
from gitmem.core.conversation import is_legal
from gitmem.edges.llm import Client, Endpoint
from gitmem.engine import Engine
from gitmem.errors import GitmemError
from tests.engines import dreamed, make_workspace, queue, session, session_bytes, working

KEYS = ("cli:a", "cli:b")
NAME = re.compile(r"\bm\d{4}\b")


class Recorder(Client):
    """A model that summarises by naming every message, and dreams by keeping nothing; it fails when told to."""

    fails = False
    taken: Sequence[int] = ()

    def ask(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        self.usage += Usage(1, 1)
        if self.fails:
            return read(b'{"choices": []}')
        asked = messages[-1]["content"]
        if options.get("tools"):
            self.taken = [
                *self.taken,
                *(int(n) for n in re.findall(r'^\{"cursor": (\d+)', asked, re.MULTILINE)),
            ]
            return read(b'{"choices": [{"message": {"content": "{\\"edits\\": []}"}}]}')
        names = dict.fromkeys(NAME.findall(asked.partition("<messages>")[2]))
        text = "\\n".join(f"- [durable] {name}" for name in names) or "(nothing)"
        return read(f'{{"choices": [{{"message": {{"content": "{text}"}}}}]}}'.encode())


class World:
    """A workspace, its engine, and what has been said and seen so far."""

    def __init__(self, root: Path, work: Engine) -> None:
        self.root, self.work = root, work
        self.model = Recorder(Endpoint("http://nowhere/v1", "recorder", "none", 5.0))
        work.model = self.model
        work.speaks_for_agent = True
        self.said: dict[str, list[str]] = {key: [] for key in KEYS}
        self.entries: dict[int, str] = {}
        self.number = 0

    def name(self) -> str:
        self.number += 1
        return f"m{self.number:04}"

    def say(self, key: str, turns: int, tools: int) -> None:
        """Append turns, as an agent that reads the file first."""
        path = self.root / "sessions" / f"{key.replace(':', '_')}.jsonl"
        known = session(self.root, key) if path.exists() else None
        messages: list[Any] = [] if known is None else list(known.messages)
        for _ in range(turns):
            new: list[dict[str, Any]] = [{"role": "user", "content": self.name()}]
            calls = [
                {
                    "id": f"c{self.number}-{n}",
                    "type": "function",
                    "function": {"name": "t", "arguments": "{}"},
                }
                for n in range(tools)
            ]
            if calls:
                new.append({"role": "assistant", "content": self.name(), "tool_calls": calls})
                new += [
                    {"role": "tool", "tool_call_id": c["id"], "name": "t", "content": self.name()}
                    for c in calls
                ]
            new.append({"role": "assistant", "content": self.name()})
            self.said[key] += [str(message["content"]) for message in new]
            messages += new
        path.write_bytes(session_bytes(key, messages, 0 if known is None else known.last_consolidated))

    def act(self, operation: tuple[Any, ...]) -> None:
        kind, key, number, flag = operation
        path = f"sessions/{key.replace(':', '_')}.jsonl"
        self.model.fails = flag and number % 3 == 0
        if kind == "say":
            self.say(key, 3 + number, number % 3)
        elif kind == "dream":
            with suppress(GitmemError):
                list(self.work.dream())
        elif (self.root / path).exists():
            steps = {
                "archive": lambda: self.work.archive(path, number),
                "compact": lambda: self.work.compact(path),
                "relieve": lambda: self.work.relieve(path),
            }
            list(steps[kind]())
        self.check()

    def check(self) -> None:
        entries = queue(self.root)
        cursors = [entry.cursor for entry in entries]
        assert cursors == sorted(set(cursors))
        for entry in entries:
            assert self.entries.setdefault(entry.cursor, entry.content) == entry.content
        assert max(cursors, default=0) == max(self.entries, default=0) or dreamed(self.root) >= max(
            cursors, default=0
        )
        mentioned = Counter(NAME.findall("\n".join(self.entries.values())))
        assert not mentioned or max(mentioned.values()) == 1, "a message was archived twice"
        for key in KEYS:
            self._check_session(key, set(mentioned))
        assert Counter(self.model.taken) == Counter(set(self.model.taken)), "an entry was dreamed twice"
        assert set(range(1, dreamed(self.root) + 1)) == set(self.model.taken)

    def _check_session(self, key: str, archived: set[str]) -> None:
        if not self.said[key]:
            return
        now = session(self.root, key)
        names = [str(message["content"]) for message in now.messages]
        assert names == self.said[key][len(self.said[key]) - len(names) :]
        assert is_legal(now.messages)
        gone = len(self.said[key]) - len(names) + now.last_consolidated
        assert set(self.said[key][:gone]) <= archived
        assert not set(self.said[key][gone:]) & archived


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "archive", "compact", "relieve", "dream"]),
        st.sampled_from(KEYS),
        st.integers(0, 9),
        st.booleans(),
    ),
    min_size=6,
    max_size=20,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS)
def test_any_order_of_operations_keeps_everything_in_its_place(operations: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = make_workspace(Path(folder) / "ws")
        with working(root, max_history_entries=2, context_window=4096, max_completion=2600) as work:
            world = World(root, work)
            world.say("cli:a", 12, 1)
            for operation in operations:
                world.act(operation)
