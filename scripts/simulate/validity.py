"""What every reader of the files relies on (P8)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitmem.core.model import MODE_SYMLINK, PathClass, TreePath
from simulate.facts import records
from simulate.store import QUEUE, Tree, classify

_MACHINE_LOCAL = (b"runtime_checkpoint", b"pending_user_turn", b"provider_state")


def problems(tree: Tree) -> Iterator[str]:
    """What is wrong with a tree, one sentence each."""
    folders = {path[:place] for path in tree for place, letter in enumerate(path) if letter == "/"}
    yield from (f"{path} is a file and a folder" for path in tree.keys() & folders)
    for path, file in tree.items():
        if not classify(path).versioned:
            yield f"{path} is not of a class that is kept"
        if file.mode != MODE_SYMLINK:
            yield from (f"{path}: {problem}" for problem in _of_file(path, file.data))
    yield from _of_queue(*(tree[path].data if path in tree else None for path in QUEUE))


def _of_file(path: TreePath, data: bytes) -> Iterator[str]:
    if path.endswith(".md") and (b"<<<<<<<" in data or b">>>>>>>" in data):
        yield "holds conflict markers"
    if path.endswith(".jsonl") and not path.startswith(".gitmem/"):
        if data and not data.endswith(b"\n"):
            yield "ends within a line"
        try:
            found = records(data)
        except ValueError:
            yield "holds a line that is no JSON"
            return
        if classify(path) is PathClass.SESSION:
            yield from _of_session(found)
            if any(name in data for name in _MACHINE_LOCAL):
                yield "holds what belongs to one machine"
    if path.endswith(".json"):
        json.loads(data)


def _of_session(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not found or found[0].get("_type") != "metadata":
        yield "does not begin with its metadata"
        return
    messages = [record for record in found if "role" in record]
    if not 0 <= found[0]["last_consolidated"] <= len(messages):
        yield "marks more messages archived than it has"
    if len(messages) != len(found) - 1:
        yield "has metadata twice"
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield "has a result that answers nothing"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            yield "has a call without a result"
        waiting = {call["id"] for call in message.get("tool_calls", ())}


def _of_queue(history: bytes | None, cursor: bytes | None, dreamed: bytes | None) -> Iterator[str]:
    last = 0
    for entry in records(history or b""):
        if entry["cursor"] <= last:
            yield "history: numbers do not rise"
        last = entry["cursor"]
    if last > int(cursor or 0):
        yield "history: a number may be given twice"
    if dreamed is not None and int(dreamed) > int(cursor or 0):
        yield "history: entries to come count as processed"
