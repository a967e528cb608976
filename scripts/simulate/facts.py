"""What a tree says. Everything that is ever written carries a token, `~17~`, so that it can be told apart wherever it goes."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gitmem.core.model import MODE_EXECUTABLE, PathClass, TreePath
from simulate.store import QUEUE, Tree, classify

_TOKEN = re.compile(rb"~(\d+)~")
_COPY = ".conflict-"
_RECORDS = ".gitmem/conflicts/"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a tree says.

    Attributes:
        count: How often each token stands in files that an agent reads.
        copies: Tokens in losing versions that were put aside.
        processed: Tokens of history entries that Dream has taken.
        archived: Tokens of messages in front of the archive mark.
        executable: Paths of files that can be executed.
    """

    count: Counter[int] = field(default_factory=Counter)
    copies: set[int] = field(default_factory=set)
    processed: set[int] = field(default_factory=set)
    archived: set[int] = field(default_factory=set)
    executable: set[TreePath] = field(default_factory=set)


def tokens(data: bytes) -> tuple[int, ...]:
    """All tokens in some bytes."""
    return tuple(int(number) for number in _TOKEN.findall(data))


def facts(tree: Tree) -> Facts:
    """Read a tree."""
    found = Facts()
    for path, file in tree.items():
        if _COPY in path:
            found.copies.update(_tokens(file.data))
        elif not path.startswith(_RECORDS):
            found.count.update(_tokens(file.data))
            if classify(path) is PathClass.SESSION:
                found.archived.update(_archived(file.data))
            if file.mode == MODE_EXECUTABLE:
                found.executable.add(path)
    history, dreamed = tree.get(QUEUE[0]), tree.get(QUEUE[2])
    if history is not None:
        last = int(dreamed.data) if dreamed is not None else 0
        entries = _entries(history.data)
        found.processed.update(token for cursor, some in entries if cursor <= last for token in some)
    return found


def by_path(tree: Tree, paths: Iterable[TreePath]) -> Iterator[tuple[TreePath, tuple[int, ...]]]:
    """The tokens of some files; of copies and records none."""
    for path in paths:
        if _COPY not in path and not path.startswith(_RECORDS):
            yield path, _tokens(tree[path].data)


def records(data: bytes) -> list[dict[str, Any]]:
    """The records of a JSON Lines file."""
    return [json.loads(line) for line in data.split(b"\n") if line]


@lru_cache(maxsize=1 << 14)
def _tokens(data: bytes) -> tuple[int, ...]:
    return tokens(data)


@lru_cache(maxsize=1 << 12)
def _archived(data: bytes) -> frozenset[int]:
    lines = [line for line in data.split(b"\n") if line]
    mark = json.loads(lines[0]).get("last_consolidated", 0) if lines else 0
    return frozenset(token for line in lines[1 : 1 + mark] for token in tokens(line))


@lru_cache(maxsize=1 << 12)
def _entries(data: bytes) -> tuple[tuple[int, tuple[int, ...]], ...]:
    return tuple((entry["cursor"], tokens(entry["content"].encode())) for entry in records(data))
