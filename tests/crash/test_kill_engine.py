"""Consolidation, compaction and Dream killed before each write, rename, unlink and fsync: done or not done, never half."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitmem.core.completion import Answer, Usage, read
from gitmem.edges.llm import Client, Endpoint
from gitmem.engine import Engine
from tests.crash.killing import disk, every_kill, head, start
from tests.engines import (
    add,
    dreamed,
    make_workspace,
    queue,
    session,
    talk,
    working,
    write_history,
    write_session,
)


class Canned(Client):
    """A model whose answers are at hand: the process that is killed again and again must not open connections."""

    answers: Sequence[bytes] = ()

    def ask(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Answer:
        del messages, options
        self.usage += Usage(1, 1)
        return read(self.answers[0])


def canned(item: Mapping[str, Any]) -> Canned:
    from endpoint import body_of  # noqa: PLC0415

    model = Canned(Endpoint("http://nowhere/v1", "canned", "none", 5.0))
    model.answers = (body_of(item, {"messages": [], "tools": []}),)
    return model


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_workspace(tmp_path / "ws")
    write_session(root, "cli:direct", talk(10))
    write_history(root, "- [durable] the backup moved", "- [permanent] she rows", dreamed=0)
    start(root)
    return root


def archive(work: Engine) -> None:
    for _ in work.compact("sessions/cli_direct.jsonl"):
        pass


def test_an_archiving_killed_anywhere_repeats_nothing_and_loses_nothing(root: Path) -> None:
    def run() -> None:
        with working(root) as work:
            work.model = canned({"text": "- [durable] they counted"})
            archive(work)

    def recovery() -> None:
        start(root)
        with working(root) as work:
            work.model = canned({"text": "- [durable] they counted"})
            archive(work)

    def check(_: bool) -> None:
        assert head(root) == disk(root)
        entries = queue(root)
        assert [entry.cursor for entry in entries] == [1, 2, 3]
        assert entries[2].content == "- [durable] they counted"
        after = session(root, "cli:direct")
        assert [message["content"] for message in after.messages] == [f"m{n}" for n in range(12, 20)]
        assert after.last_consolidated == 0

    assert every_kill(root, run, check, recovery) > 40


def test_a_dream_killed_anywhere_is_done_or_not_done(root: Path) -> None:
    edits = [
        {"file": "memory/MEMORY.md", "op": "replace", "anchor": "/mnt/a", "text": "/mnt/b", "sources": [1]},
        add("rows", 2, file="USER.md"),
    ]
    before = disk(root)

    def dream() -> None:
        with working(root, max_history_entries=1) as work:
            work.model = canned({"edits": edits})
            for _ in work.dream():
                pass

    def check(through: bool) -> None:
        now = disk(root)
        assert head(root) == now
        done = b"/mnt/b" in now["memory/MEMORY.md"]
        assert (b"rows" in now["USER.md"]) is done
        assert dreamed(root) == (2 if done else 0)
        assert done or now == before
        assert len(queue(root)) == (2 if not done else len(queue(root)))
        assert done or not through

    assert every_kill(root, dream, check, lambda: start(root)) > 40


def test_a_dream_killed_anywhere_and_run_again_ends_the_same(root: Path) -> None:
    ends = set()

    def dream() -> None:
        with working(root) as work:
            work.model = canned({"edits": [add("rows", 2, file="USER.md")]})
            for _ in work.dream():
                pass

    def recovery() -> None:
        start(root)
        dream()

    def check(_: bool) -> None:
        ends.add((root / "USER.md").read_bytes())
        assert dreamed(root) == 2

    every_kill(root, dream, check, recovery)
    assert len(ends) == 1
