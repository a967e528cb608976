"""Which commits are reachable from which: the questions a push asks of the commit graph.

Commit times only order the search, they never decide: clocks of two machines differ, and an ancestor may look
younger than its descendant (merge.md, section 1, clock skew).
"""

import heapq
import sys
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

Node: TypeAlias = Callable[[str], tuple[int, tuple[str, ...]]]
"""Gives a commit's time (Unix seconds) and its parents' names."""

_SLACK = 16
"""Commits of the other side that are looked at although older than all that seems new: clocks differ."""


def is_ancestor(node: Node, ancestor: str, descendant: str) -> bool:
    """Whether `ancestor` is `descendant` or reachable from it by parents."""
    if ancestor == descendant:
        return True
    seen = {descendant}
    queue = [(-node(descendant)[0], descendant)]
    while queue:
        for parent in node(heapq.heappop(queue)[1])[1]:
            if parent == ancestor:
                return True
            if parent not in seen:
                seen.add(parent)
                heapq.heappush(queue, (-node(parent)[0], parent))
    return False


def unsent(node: Node, wants: Iterable[str], haves: Collection[str]) -> list[str]:
    """Commits reachable from `wants` and not from `haves`, parents before children, first parents first.

    The search ends where only commits of the other side are left to look at, so its cost follows what is
    new, not the length of history. Under clock skew it may name commits that the other side has; it never
    misses one.

    Args:
        node: The commit graph.
        wants: Tips that the other side shall get.
        haves: Commits that the other side has, with all their ancestors; each must be known to `node`.
    """
    search = _Search(node)
    for name in haves:
        search.add(name, had=True)
    for name in wants:
        search.add(name, had=False)
    search.run()
    return _parents_first(node, wants, search.new)


class _Search:
    """Two colours spread from the tips towards the roots, newest first."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._had: set[str] = set()
        self._queue: list[tuple[int, str, bool]] = []
        self._open = 0
        self._oldest = sys.maxsize
        self.new: set[str] = set()

    def add(self, name: str, *, had: bool) -> None:
        if name in self._had or (not had and name in self.new):
            return
        if had:
            self._had.add(name)
            self.new.discard(name)
        else:
            self.new.add(name)
            self._open += 1
            self._oldest = min(self._oldest, self._node(name)[0])
        heapq.heappush(self._queue, (-self._node(name)[0], name, had))

    def run(self) -> None:
        slack = _SLACK
        while self._queue and (self._open or (slack and self.new)):
            when, name, had = heapq.heappop(self._queue)
            if not self._open and -when < self._oldest:
                slack -= 1
            self._open -= not had
            if had or name in self.new:
                for parent in self._node(name)[1]:
                    self.add(parent, had=had)


def _parents_first(node: Node, tips: Iterable[str], chosen: Collection[str]) -> list[str]:
    order: list[str] = []
    done: set[str] = set()
    stack = [(name, False) for name in tips if name in chosen]
    while stack:
        name, expanded = stack.pop()
        if expanded:
            order.append(name)
        elif name not in done:
            done.add(name)
            stack.append((name, True))
            parents = reversed(node(name)[1])
            stack += [(parent, False) for parent in parents if parent in chosen and parent not in done]
    return order
