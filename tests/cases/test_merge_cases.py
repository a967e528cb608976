"""Bug reports about merging and taking back: what other tools lost, doubled or brought back when two machines met.

Each case is told in our own data; the handed-out inputs are run as well where they lie beside the project.
"""

import json
from pathlib import Path

import pytest

from gitmem.core import history, jsonl, session
from gitmem.core.markdown import parse, render
from gitmem.core.merge.inverse import inverse
from gitmem.core.merge.tree import Tree, applied, merge_tree
from gitmem.core.model import File
from gitmem.core.paths import classify_path
from tests.cases.shared import INPUTS
from tests.core.conversations import Json, assistant, file_of, metadata, user

SESSION = "sessions/cli_direct.jsonl"
HISTORY = "memory/history.jsonl"
MEMORY = "memory/MEMORY.md"


def merged(base: Tree, ours: Tree, theirs: Tree) -> dict[str, File]:
    """The tree that both machines get, whoever merges; merging it again with a side changes nothing."""
    tree = applied(ours, merge_tree(classify_path, base, ours, theirs).files)
    assert tree == applied(theirs, merge_tree(classify_path, base, theirs, ours).files)
    for side in (ours, theirs):
        assert not merge_tree(classify_path, side, tree, side).files
    return tree


def handed_out_trees(case: str) -> tuple[Tree, Tree, Tree]:
    """The versions `base`, `ours` and `theirs` of a case."""
    if not (INPUTS / case).exists():
        pytest.skip(f"{case} is not beside the project")
    base, ours, theirs = (_tree(INPUTS / case / name) for name in ("base", "ours", "theirs"))
    return base, ours, theirs


def _tree(folder: Path) -> Tree:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): File(path.read_bytes()) for path in files}


def of(path: str, *versions: bytes) -> list[Tree]:
    return [{path: File(data)} for data in versions]


def contents(data: bytes) -> list[object]:
    return [message.get("content") for message in session.parse(data).messages]


def numbers(data: bytes) -> list[tuple[int, str]]:
    return [(entry.cursor, entry.content) for entry in history.parse(data).entries]


def entry(cursor: int, content: str, **more: object) -> Json:
    return {"cursor": cursor, "timestamp": f"2026-03-01 10:{cursor:02}", "content": content, **more}


# B18: line separators of Unicode inside texts.

SEPARATED = "one\u2028still one \u2029 and \u0085 here"


def test_b18_a_merge_cuts_lines_at_lf_only_and_leaves_each_as_it_was() -> None:
    base, ours, theirs = (
        file_of(metadata(), user(SEPARATED), *more) for more in ([], [user("a")], [assistant("b")])
    )
    data = merged(*of(SESSION, base, ours, theirs))[SESSION].data
    assert data.startswith(base)
    assert contents(data)[:1] == [SEPARATED]
    assert len(contents(data)) == 3

    queue = [file_of(entry(1, SEPARATED), *more) for more in ([], [entry(2, "a")], [entry(3, "b")])]
    data = merged(*of(HISTORY, *queue))[HISTORY].data
    assert data.startswith(queue[0])
    assert len(numbers(data)) == 3

    memory = [f"- {SEPARATED}\n{more}".encode() for more in ("- z\n", "- z\n- a\n", "- b\n- z\n")]
    assert merged(*of(MEMORY, *memory))[MEMORY].data == f"- {SEPARATED}\n- b\n- z\n- a\n".encode()


def test_b18_as_handed_out() -> None:
    if not (INPUTS / "B18").exists():
        pytest.skip("B18 is not beside the project")
    for path, addition in (
        ("memory/MEMORY.md", b"- three\n"),
        ("memory/history.jsonl", file_of(entry(3, "three"))),
        ("sessions/u2028.jsonl", file_of(user("three"))),
    ):
        data = (INPUTS / "B18" / path).read_bytes()
        assert render(parse(data)) == data
        other = addition.replace(b"three", b"four")
        result = merged(*of(path, data, data + addition, data + other))[path].data
        assert set(data.split(b"\n")) <= set(result.split(b"\n"))
        assert b"three" in result
        assert b"four" in result


# B25: the same text twice is two messages.

YES: list[Json] = [
    message
    for number in range(4)
    for message in (
        user("yes", timestamp="2026-03-01T10:00:00"),
        assistant(f"step {number}", timestamp="2026-03-01T10:00:00"),
    )
]


def test_b25_equal_messages_survive_a_merge_and_a_revert_in_their_places() -> None:
    base = file_of(metadata(mark=4), *YES)
    ours = file_of(metadata(mark=4), *YES, user("yes", timestamp="2026-03-01T10:01:00"), assistant("step 4"))
    theirs = file_of(metadata(mark=6), *YES)
    result = session.parse(merged(*of(SESSION, base, ours, theirs))[SESSION].data)
    assert [message["content"] for message in result.messages] == contents(ours)
    assert result.last_consolidated == 6

    undone = inverse(
        classify_path,
        before={SESSION: File(base)},
        commit={SESSION: File(ours)},
        now={SESSION: File(ours + file_of(user("yes")))},
    )
    file = undone.files[SESSION]
    assert file is not None
    assert contents(file.data) == [*contents(base), "yes"]


@pytest.mark.parametrize("name", ["repeat.jsonl", "repeat_same_timestamp.jsonl"])
def test_b25_as_handed_out(name: str) -> None:
    path = INPUTS / "B25" / "sessions" / name
    if not path.exists():
        pytest.skip("B25 is not beside the project")
    data = path.read_bytes()
    longer = data + file_of(user("more"), assistant("done"))
    renamed = data.replace(b'"metadata": {}', b'"metadata": {"title": "t"}')
    result = merged(*of(SESSION, data, longer, renamed))[SESSION].data
    assert contents(result) == [*contents(data), "more", "done"]


# B57: one conflict must not cost the other changes.


def test_b57_every_change_that_does_not_conflict_arrives_and_both_texts_of_the_one_that_does_are_seen() -> (
    None
):
    base, ours, theirs = one_conflict_and_four_changes()
    tree = merged(base, ours, theirs)
    assert tree[MEMORY].data == b"# Facts\n- tea (evening)\n- tea (morning)\n- cake\n- plums\n"
    assert tree["USER.md"] == theirs["USER.md"]
    assert tree["memory/new.md"] == theirs["memory/new.md"]
    (record,) = (file for path, file in tree.items() if path.startswith(".gitmem/conflicts/"))
    assert json.loads(record.data)["values"] == ["- tea (evening)", "- tea (morning)"]


def one_conflict_and_four_changes() -> tuple[Tree, Tree, Tree]:
    base = {MEMORY: File(b"# Facts\n- tea\n- cake\n"), "USER.md": File(b"name: Ida\n")}
    ours = {**base, MEMORY: File(b"# Facts\n- tea (morning)\n- cake\n")}
    theirs = {
        MEMORY: File(b"# Facts\n- tea (evening)\n- cake\n- plums\n"),
        "USER.md": File(b"name: Ida\nphone: new\n"),
        "memory/new.md": File(b"added\n"),
    }
    return base, ours, theirs


def test_b57_as_handed_out() -> None:
    base, ours, theirs = handed_out_trees("B57")
    tree = merged(base, ours, theirs)
    for path in ("USER.md", "memory/other.md", "memory/added.md"):
        assert tree[path] == theirs[path]
    for fact in (b"- one (ours)\n", b"- one (theirs)\n", b"- two\n", b"- three\n", b"- four (theirs)\n"):
        assert tree[MEMORY].data.count(fact) == 1
    assert b"<<<" not in b"".join(file.data for file in tree.values())


# B66: what both sides have is there once.


def test_b66_a_block_that_both_machines_have_is_not_doubled() -> None:
    shared = [entry(number, f"text {number}") for number in range(1, 5)]
    base, ours, theirs = (
        file_of(*entries)
        for entries in (shared[:2], [*shared, entry(5, "mine")], [*shared, entry(6, "other")])
    )
    result = merged(*of(HISTORY, base, ours, theirs))[HISTORY].data
    assert [content for _, content in numbers(result)] == [
        "text 1",
        "text 2",
        "text 3",
        "text 4",
        "mine",
        "other",
    ]
    cursors = [cursor for cursor, _ in numbers(result)]
    assert cursors == sorted(set(cursors))
    assert cursors[:4] == [1, 2, 3, 4]


def test_b66_as_handed_out() -> None:
    tree = merged(*handed_out_trees("B66"))
    contents_in_order = [content for _, content in numbers(tree[HISTORY].data)]
    assert contents_in_order == ["one", "two", "three", "four", "five, only ours", "six, only theirs"]
    cursors = [cursor for cursor, _ in numbers(tree[HISTORY].data)]
    assert cursors == sorted(set(cursors))
    data = tree["sessions/s.jsonl"].data
    parsed = session.parse(data)
    assert contents(data) == ["a", "b", "c", "d", "e"]
    assert parsed.last_consolidated == 2
    assert parsed.state == {"title": "t"}
    assert [line.value.get("_type") for line in jsonl.parse(data).lines if line.value] == ["metadata"] + [
        None
    ] * 5


# B69: fields that we do not know.


def test_b69_unknown_fields_and_records_survive_a_merge_digit_for_digit() -> None:
    head = b'{"_type":"metadata","key":"cli:a","big":12345678901234567890123,"last_consolidated":0,"metadata":{"v":1e-7}}\n'
    note = b'{"_type": "note", "x": 1.10}\n'
    first = b'{"role": "user", "content": "hi", "odd": [1.0,  2e3]}\n'
    base = head + note + first
    ours = base + b'{"role": "assistant", "content": "yo", "reasoning_content": "r", "seed": 0.1000}\n'
    theirs = head.replace(b'"v":1e-7', b'"v":1e-7,"title":"T"') + note + first
    result = merged(*of(SESSION, base, ours, theirs))[SESSION].data
    assert result == theirs + ours.removeprefix(base)


def test_b69_a_field_added_to_an_entry_and_a_new_entry_meet() -> None:
    base = file_of(entry(1, "a", future={"tags": ["p"]}))
    ours = file_of(entry(1, "a", future={"tags": ["p"]}, pinned=True))
    theirs = (
        base
        + b'{"cursor": 2, "timestamp": "t", "content": "d", "vector": [0.10, 1e-07, 12345678901234567890]}\n'
    )
    assert merged(*of(HISTORY, base, ours, theirs))[HISTORY].data == ours + theirs.removeprefix(base).replace(
        b'"cursor": 2', b'"cursor": 3'
    )


def test_b69_as_handed_out() -> None:
    base, ours, theirs = handed_out_trees("B69")
    tree = merged(base, ours, theirs)
    entries = [line.value for line in jsonl.parse(tree[HISTORY].data).records]
    assert [(found or {}).get("pinned") for found in entries] == [True, None]
    assert b"[0.1, 1e-07, 12345678901234567890]" in tree[HISTORY].data
    lines = tree["sessions/s.jsonl"].data.splitlines()
    assert b'"x_vendor": {"a": 1}, "title": "T"' in lines[0]
    assert b'"schema": 7' in lines[0]
    assert lines[1:] == ours["sessions/s.jsonl"].data.splitlines()[1:]
    undone = inverse(classify_path, before=ours, commit=tree, now=tree)
    assert applied(tree, undone.files) == ours


# B70: age is ancestry.


def test_b70_an_old_copy_with_a_fast_clock_changes_nothing() -> None:
    base = {MEMORY: File(b"- plan: draft\n"), SESSION: File(file_of(metadata(), user("a")))}
    late = base[SESSION].data.replace(b"2026-03-01T10:30:00", b"2036-03-01T10:30:00")
    ours = {
        MEMORY: File(b"- plan: final\n"),
        SESSION: File(file_of(metadata(mark=1), user("a"), assistant("b"))),
    }
    tree = merged(base, ours, {**base, SESSION: File(late), "notes.txt": File(b"unrelated\n")})
    assert tree[MEMORY] == ours[MEMORY]
    assert contents(tree[SESSION].data) == ["a", "b"]
    assert session.parse(tree[SESSION].data).last_consolidated == 1


def test_b70_as_handed_out() -> None:
    base, ours, theirs = handed_out_trees("B70")
    assert merged(base, ours, theirs) == ours
    assert merged(base, ours, {**theirs, "notes.txt": File(b"x")}) == {**ours, "notes.txt": File(b"x")}


# B74: conflict markers that somebody committed.


def test_b74_markers_in_records_are_dropped_and_the_records_of_both_sides_kept() -> None:
    marked = (
        b"<<<<<<< HEAD\n"
        + file_of(entry(2, "mine"))
        + b"=======\n"
        + file_of(entry(2, "other"))
        + b">>>>>>> 1a2b\n"
    )
    base = file_of(entry(1, "a")) + marked
    result = merged(*of(HISTORY, base, base + file_of(entry(3, "b")), base + file_of(entry(4, "c"))))[
        HISTORY
    ].data
    assert b"<<<" not in result
    assert [content for _, content in numbers(result)] == ["a", "mine", "other", "b", "c"]
    cursors = [cursor for cursor, _ in numbers(result)]
    assert cursors == sorted(set(cursors))


def test_b74_as_handed_out() -> None:
    if not (INPUTS / "B74").exists():
        pytest.skip("B74 is not beside the project")
    for name, wanted in (("diff3", ["x", "y"]), ("glued_marker", ["x", "no newline before marker", "z"])):
        data = (INPUTS / "B74" / "sessions" / f"{name}.jsonl").read_bytes()
        ours, theirs = (
            data + file_of(user("ours", timestamp="2026-05-01")),
            data + file_of(user("theirs", timestamp="2026-06-01")),
        )
        result = merged(*of(SESSION, data, ours, theirs))[SESSION].data
        assert contents(result) == [*wanted, "ours", "theirs"]
        assert session.parse(result).problems == ()
        assert session.parse(result).last_consolidated == 0
    legit = (INPUTS / "B74" / "legit" / "memory" / "MEMORY.md").read_bytes()
    result = merged(*of(MEMORY, legit, legit + b"\n- ours\n", b"- theirs\n\n" + legit))[MEMORY].data
    assert result == b"- theirs\n\n" + legit + b"\n- ours\n"


# B77: an edit against a removal.


def test_b77_an_edit_beats_a_removal_and_a_plain_removal_stays() -> None:
    talk = file_of(metadata(), user("a"))
    base = {
        "memory/a.md": File(b"one\n"),
        "memory/b.md": File(b"one\n"),
        SESSION: File(talk),
        "skills/x/SKILL.md": File(b"s\n"),
    }
    ours = {"memory/b.md": File(b"one\n\nmore\n"), "skills/x/SKILL.md": File(b"s\n")}
    theirs = {"memory/a.md": File(b"one\n\nmore\n"), SESSION: File(talk + file_of(assistant("new")))}
    tree = merged(base, ours, theirs)
    assert tree["memory/a.md"] == theirs["memory/a.md"]
    assert tree["memory/b.md"] == ours["memory/b.md"]
    assert contents(tree[SESSION].data) == ["new"]
    assert "skills/x/SKILL.md" not in tree
    told = merge_tree(classify_path, base, ours, theirs).conflicts
    assert sorted(conflict.path for conflict in told) == ["memory/a.md", "memory/b.md", SESSION]


def test_b77_as_handed_out() -> None:
    base, ours, theirs = handed_out_trees("B77")
    tree = merged(base, ours, theirs)
    assert tree["memory/topic.md"] == theirs["memory/topic.md"]
    assert tree["memory/last.md"] == ours["memory/last.md"]
    assert "new answer" in contents(tree["sessions/old.jsonl"].data)
    assert "skills/x/SKILL.md" not in tree
    told = merge_tree(classify_path, base, ours, theirs).conflicts
    assert sorted(conflict.path for conflict in told) == [
        "memory/last.md",
        "memory/topic.md",
        "sessions/old.jsonl",
    ]
