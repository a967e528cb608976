"""A day of an agent that has no memory engine of its own: the daemon archives, compacts and dreams beside it, through trouble."""

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from endpoint import Endpoint
from gitmem.core import history
from gitmem.core.conversation import is_legal
from gitmem.core.dreaming.draft import facts
from gitmem.core.model import CommitInfo, Kind
from gitmem.core.session import parse
from gitmem.edges import workspace
from gitmem.edges.opened import Opened, open_workspace
from tests.e2e.running import Daemon, eventually, gitmem
from tests.engines import dreamed, make_workspace, queue, session

pytestmark = pytest.mark.slow
SETTINGS = {
    "GITMEM_MODEL": "scripted",
    "GITMEM_SESSION_HOT": "0.2",
    "GITMEM_CONTEXT_WINDOW": "7000",
    "GITMEM_MAX_COMPLETION": "1000",
    "GITMEM_DREAM_EVERY": "1",
    "GITMEM_MODEL_TIMEOUT": "5",
    "GITMEM_MAX_HISTORY_ENTRIES": "4",
}
SUBJECT = {
    Kind.INIT: r"init: track \d+ files of a native workspace",
    Kind.SESSION: r"session(\(\S+\))?: .+",
    Kind.CONSOLIDATE: r"consolidate\((cli:direct|telegram:42)\): messages \d+\.\.\d+ -> history [\d.,]+(, raw)?",
    Kind.COMPACT: r"compact\((cli:direct|telegram:42|history)\): dropped .+",
    Kind.DREAM: r"dream: history [\d.]+ -> .+",
    Kind.REPLAY: r"replay\(\S+\): .+",
    Kind.REVERT: r"revert: undo dream .+",
}


class Agent:
    """Talks, and saves whole files as agents do; what it said is remembered here to be looked for later."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said: list[str] = []

    def turn(self, key: str, number: int, words: int) -> None:
        """One turn with a tool."""
        known = session(self.root, key) if self._path(key).is_file() else parse(b"")
        asked = f"fact {number:04} of {key}: {'so ' * words}it is"
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        self.said.append(asked)
        self._save(
            key,
            known.metadata,
            [
                *known.messages,
                {"role": "user", "content": asked, "timestamp": "2026-01-05T10:00:00"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {
                    "role": "tool",
                    "tool_call_id": f"c{number}",
                    "name": "look",
                    "content": f"seen {number:04}",
                },
                {"role": "assistant", "content": f"noted {number:04}"},
            ],
            known.last_consolidated,
        )

    def much(self, key: str, first: int, count: int) -> None:
        """Very many short messages at once."""
        known = session(self.root, key)
        texts = [f"fact {number:04} of {key}" for number in range(first, first + count)]
        self.said += texts[::2]
        messages = [
            {"role": "assistant" if n % 2 else "user", "content": text, "timestamp": "2026-01-05T12:00:00"}
            for n, text in enumerate(texts)
        ]
        self._save(key, known.metadata, [*known.messages, *messages], known.last_consolidated)

    def _path(self, key: str) -> Path:
        return self.root / "sessions" / f"{key.replace(':', '_')}.jsonl"

    def _save(self, key: str, metadata: Any, messages: Sequence[Any], archived: int) -> None:
        head = {"_type": "metadata", "key": key, "metadata": {}, **metadata, "last_consolidated": archived}
        data = b"".join(json.dumps(line).encode() + b"\n" for line in (head, *messages))
        temporary = self._path(key).with_suffix(".tmp")
        temporary.write_bytes(data)
        os.replace(temporary, self._path(key))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "ws")


def test_a_day(root: Path) -> None:
    agent = Agent(root)
    with Endpoint() as endpoint:
        daemon = Daemon(root, env={**SETTINGS, "GITMEM_BASE_URL": endpoint.url})
        try:
            daemon.start()
            _morning(root, agent, endpoint)
            _crash(daemon)
            _afternoon(root, agent, daemon)
            _evening(root, agent)
            assert daemon.end() == 0
            gitmem("-C", root, "dream", env={**SETTINGS, "GITMEM_BASE_URL": endpoint.url})
        finally:
            daemon.close()
    _check(root, agent)
    _check_revert(root)


def _morning(root: Path, agent: Agent, endpoint: Endpoint) -> None:
    """Pressure while the model fails, then while it works."""
    endpoint.script[:] = [{"status": 401, "body": {"error": {"message": "not now"}}}]
    for number in range(20):
        agent.turn("telegram:42", number, words=300)
    eventually("messages are kept raw", lambda: queue(root))
    endpoint.script[:] = []
    for number in range(100, 120):
        agent.turn("cli:direct", number, words=300)
    eventually("messages are summarised", lambda: any("[durable]" in entry.content for entry in queue(root)))


def _crash(daemon: Daemon) -> None:
    """The daemon dies with work under way, and comes back."""
    daemon.end(signal.SIGKILL)
    daemon.start()


def _afternoon(root: Path, agent: Agent, daemon: Daemon) -> None:
    """A session past its cap; Dreams go on."""
    agent.much("cli:direct", 1000, 2100)
    eventually("the file is under its cap", lambda: len(session(root, "cli:direct").messages) <= 2000, 90)
    eventually("a Dream took something in", lambda: dreamed(root) > 0, 90)
    del daemon


def _evening(root: Path, agent: Agent) -> None:
    """Talk goes on, and the idle session is compacted."""
    for number in range(200, 225):
        agent.turn("telegram:42", number, words=300)
    eventually("pressure is off", lambda: len(_archived(root)) > 0, 90)
    eventually("all is dreamed", lambda: _unread(root) == 0, 90)
    done = gitmem("-C", root, "compact", "--idle", "0", "--force", env={"GITMEM_MODEL": ""}, check=False)
    assert done.returncode in (0, 11), done.stderr


def _archived(root: Path) -> list[int]:
    return [
        entry.cursor
        for entry in queue(root)
        if entry.session_key == "telegram:42" and "fact 02" in entry.content
    ]


def _unread(root: Path) -> int:
    return sum(entry.cursor > dreamed(root) for entry in queue(root))


def _check(root: Path, agent: Agent) -> None:
    with open_workspace(workspace.find(root)) as opened:
        commits = list(opened.repo.history(opened.repo.head()))
        entries = _all_entries(opened, commits)
        _check_names(commits)
        _check_findable(opened, commits, agent, entries)
    _check_queue(entries, commits, root)
    for key in ("cli:direct", "telegram:42"):
        assert is_legal(session(root, key).messages)
    texts = [facts((root / name).read_text("utf-8")) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")]
    assert max(Counter(fact for found in texts for fact in found).values()) == 1
    assert not any(
        re.search(r"\[(durable|permanent|skip|ephemeral|correction)\]", fact) for f in texts for fact in f
    )


def _check_names(commits: Sequence[CommitInfo]) -> None:
    for commit in commits:
        assert re.fullmatch(SUBJECT[commit.kind], commit.subject), commit.subject
    kinds = {commit.kind for commit in commits}
    assert {Kind.SESSION, Kind.CONSOLIDATE, Kind.COMPACT, Kind.DREAM} <= kinds


def _all_entries(opened: Opened, commits: Sequence[CommitInfo]) -> dict[int, str]:
    """Every entry that ever was in the queue; an entry never says two things."""
    found: dict[int, str] = {}
    for commit in commits:
        file = opened.repo.file(commit.sha, "memory/history.jsonl")
        for entry in history.parse(b"" if file is None else file.data).entries:
            assert found.setdefault(entry.cursor, entry.content) == entry.content
    return found


def _check_findable(
    opened: Opened, commits: Sequence[CommitInfo], agent: Agent, entries: dict[int, str]
) -> None:
    kept = b"".join(_session_texts(opened, commits)).decode()
    for text in agent.said:
        assert f'"{text}"' in kept, text
        assert (
            sum(bool(re.search(rf"{re.escape(text)}(?!\d)", content)) for content in entries.values()) <= 1
        ), text


def _session_texts(opened: Opened, commits: Sequence[CommitInfo]) -> Iterator[bytes]:
    seen: set[str] = set()
    for commit in commits:
        for path, entry in opened.repo.files(commit.sha).items():
            if path.startswith("sessions/") and entry.sha not in seen:
                seen.add(str(entry.sha))
                yield opened.repo.read(entry).data


def _check_queue(entries: dict[int, str], commits: Sequence[CommitInfo], root: Path) -> None:
    """Cursors are given out without a gap, and each was dreamed once."""
    assert sorted(entries) == list(range(1, max(entries) + 1))
    taken: list[int] = []
    for commit in reversed(commits):
        for span in commit.trailers.get("Gitmem-Dream", ()):
            low, _, high = span.partition("..")
            taken += range(int(low), int(high or low) + 1)
    assert taken == list(range(1, dreamed(root) + 1))
    assert dreamed(root) == max(entries)


def _check_revert(root: Path) -> None:
    """Taking back the second Dream that wrote something keeps what the third one wrote."""
    with open_workspace(workspace.find(root)) as opened:
        commits = list(opened.repo.history(opened.repo.head()))
        wrote = [c for c in reversed(commits) if c.kind is Kind.DREAM and "Gitmem-Source" in c.trailers]
        assert len(wrote) >= 3
        brought = [_brought(opened, commit) for commit in wrote]
    before = dreamed(root)
    gitmem("-C", root, "revert", wrote[1].sha)
    left = set(facts((root / "memory" / "MEMORY.md").read_text("utf-8")))
    assert not left & brought[1]
    assert brought[0] | brought[2] <= left
    assert dreamed(root) == before


def _brought(opened: Opened, commit: CommitInfo) -> set[str]:
    old, new = (
        set() if file is None else set(facts(file.data.decode()))
        for file in (opened.repo.file(sha, "memory/MEMORY.md") for sha in (commit.parents[0], commit.sha))
    )
    return new - old
