"""Where facts come from: the commit that brought each, and the entries it names."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.actions.origin import Origin, origins, origins_of_all
from gitmem.core import history
from gitmem.core.model import Kind
from gitmem.core.provenance import source_trailer
from gitmem.edges.opened import Opened, open_workspace
from tests.engines import add, make_workspace, scripted, write_history
from tests.histories import MAIN, History, new_workspace

MEMORY = "memory/MEMORY.md"
QUEUE = "memory/history.jsonl"


class Place:
    """A workspace whose commits are made one by one, and whose disk follows the last one."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.history = History(opened.repo)

    def commit(self, *facts: str, kind: Kind = Kind.EDIT, trailers: tuple[tuple[str, str], ...] = ()) -> str:
        sha = self.history.add(kind, {MEMORY: text(*facts)}, trailers=trailers)
        self.disk(*facts)
        return sha

    def disk(self, *facts: str) -> None:
        path = self.opened.workspace.directory / MEMORY
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text(*facts))

    def told(self) -> dict[str, str | None]:
        found = origins(self.opened, MEMORY)
        return {item.fact: None if item.commit is None else item.commit.sha for item in found}


def text(*facts: str) -> bytes:
    return ("# Memory\n\n" + "".join(f"- {fact}\n" for fact in facts)).encode()


def queue(*entries: tuple[int, str | None]) -> bytes:
    lines = [history.record(cursor, "2026-01-05 09:00", f"e{cursor}", key) for cursor, key in entries]
    return b"".join(line + b"\n" for line in lines)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_workspace(new_workspace(tmp_path / "ws")) as opened:
        yield Place(opened)


def test_each_fact_is_told_with_the_commit_that_brought_it(place: Place) -> None:
    first = place.commit("tea", "milk")
    second = place.commit("tea", "milk", "bread")
    third = place.commit("tea", "milk and honey", "bread")
    assert place.told() == {"tea": first, "milk and honey": third, "bread": second}


def test_lines_are_those_of_the_disk(place: Place) -> None:
    place.commit("tea", "milk")
    assert [(item.line, item.fact) for item in origins(place.opened, MEMORY)] == [(3, "tea"), (4, "milk")]


def test_moving_and_reformatting_brings_nothing(place: Place) -> None:
    first = place.commit("tea", "milk")
    place.history.add(Kind.EDIT, {MEMORY: b"# Other\n\nmilk\n\n* tea\n"})
    place.disk("milk", "tea")
    assert place.told() == {"tea": first, "milk": first}


def test_a_fact_that_went_and_came_back_belongs_to_its_return(place: Place) -> None:
    place.commit("tea")
    place.commit("milk")
    third = place.commit("milk", "tea")
    assert place.told()["tea"] == third


def test_equal_facts_are_told_apart_by_their_number(place: Place) -> None:
    first = place.commit("tea")
    second = place.commit("tea", "milk", "tea")
    place.disk("tea", "milk", "tea", "tea")
    shas = [item.commit and item.commit.sha for item in origins(place.opened, MEMORY)]
    assert shas == [first, second, second, None]


def test_what_is_only_on_disk_is_not_committed(place: Place) -> None:
    first = place.commit("tea", "milk")
    place.disk("tea", "bread")
    assert place.told() == {"tea": first, "bread": None}


def test_before_the_first_commit_nothing_has_an_origin(place: Place) -> None:
    place.disk("tea")
    assert place.told() == {"tea": None}


def test_a_file_that_is_not_there_states_nothing(place: Place) -> None:
    place.commit("tea")
    assert origins(place.opened, "USER.md") == []


def test_a_merge_is_no_origin_of_what_its_sides_brought(place: Place) -> None:
    base = place.commit("tea")
    ours = place.history.add(Kind.EDIT, {MEMORY: text("tea", "ours")}, parents=(base,))
    side = "refs/heads/side"
    assert place.opened.repo.move(side, None, base, place.opened.stamp())
    theirs = place.history.add(Kind.EDIT, {MEMORY: text("theirs", "tea")}, parents=(base,), ref=side)
    merged = ("theirs", "tea", "ours", "both")
    merge = place.history.add(Kind.MERGE, {MEMORY: text(*merged)}, parents=(ours, theirs), ref=MAIN)
    place.disk(*merged)
    assert place.told() == {"theirs": theirs, "tea": base, "ours": ours, "both": merge}


def test_a_dream_names_the_entries_and_their_sessions_also_when_they_are_gone(place: Place) -> None:
    place.history.add(Kind.CONSOLIDATE, {QUEUE: queue((1, "cli:a"), (2, None), (3, "cli:b"), (4, "cli:a"))})
    trailers = (source_trailer(MEMORY, "tea", [1, 2, 3, 4]), source_trailer(MEMORY, "milk", [2]))
    place.commit("tea", "milk", "bread", kind=Kind.DREAM, trailers=trailers)
    place.history.add(Kind.COMPACT, {QUEUE: queue()})
    tea, milk, bread = origins(place.opened, MEMORY)
    assert (tea.cursors, tea.sessions) == ((1, 2, 3, 4), ("cli:a", "cli:b"))
    assert (milk.cursors, milk.sessions) == ((2,), ())
    assert (bread.cursors, bread.sessions) == ((), ())
    assert tea.commit is not None
    assert tea.commit.kind is Kind.DREAM


def test_a_cursor_means_what_it_meant_when_the_dream_was_made(place: Place) -> None:
    place.history.add(Kind.CONSOLIDATE, {QUEUE: queue((1, "cli:then"))})
    place.commit("tea", kind=Kind.DREAM, trailers=(source_trailer(MEMORY, "tea", [1]),))
    place.history.add(Kind.MERGE, {QUEUE: queue((1, "cli:now"))})
    (tea,) = origins(place.opened, MEMORY)
    assert tea.sessions == ("cli:then",)


def test_a_correction_has_no_sources_of_what_it_replaced(place: Place) -> None:
    place.commit("tea", kind=Kind.DREAM, trailers=(source_trailer(MEMORY, "tea", [1]),))
    place.commit("green tea")
    (tea,) = origins(place.opened, MEMORY)
    assert tea.cursors == ()


def test_several_files_take_one_walk_and_stay_apart(place: Place) -> None:
    first = place.commit("tea")
    second = place.history.add(Kind.EDIT, {"USER.md": b"- tea\n"})
    (place.opened.workspace.directory / "USER.md").write_bytes(b"- tea\n")
    told = origins_of_all(place.opened, [MEMORY, "USER.md", "SOUL.md"])
    shas = {path: [item.commit and item.commit.sha for item in items] for path, items in told.items()}
    assert shas == {MEMORY: [first], "USER.md": [second], "SOUL.md": []}


def test_any_history_tells_the_same_as_looking_at_every_commit(place: Place) -> None:
    chance = random.Random(7)
    words = [f"fact {number}" for number in range(8)]
    states: list[tuple[str, set[str]]] = []
    for number in range(40):
        facts = chance.sample(words, chance.randrange(len(words)))
        states.append((place.commit(f"entry {number}", *facts), set(facts)))
    for word in states[-1][1]:
        since = next(n for n in range(len(states), 0, -1) if n == 1 or word not in states[n - 2][1])
        assert place.told()[word] == states[since - 1][0]


def test_an_origin_is_a_plain_value() -> None:
    assert Origin(1, "tea", None) == Origin(1, "tea", None, (), ())


def test_a_dream_of_our_own_leads_back_to_its_session(tmp_path: Path) -> None:
    root = make_workspace(tmp_path / "ws")
    write_history(root, "- [durable] the cat is called Miso")
    edits = [add("- The cat is called Miso.", 1), add("- Has a cat.", 1, file="USER.md")]
    with scripted(root, {"edits": edits}) as (work, _):
        (commit,) = work.dream()
        found = origins_of_all(work.opened, [MEMORY, "USER.md"])
    for path, fact in ((MEMORY, "The cat is called Miso."), ("USER.md", "Has a cat.")):
        (told,) = [item for item in found[path] if item.commit == commit]
        assert (told.fact, told.cursors, told.sessions) == (fact, (1,), ("cli:direct",))
