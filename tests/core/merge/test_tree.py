"""Whole trees: every clean change arrives, every loser has a copy, and every path has its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.merge.conflict import ConflictKind, copy_path, digest
from gitmem.core.merge.tree import MergedTree, Tree, applied, merge_tree
from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, File
from gitmem.core.paths import classify_path
from tests.core.conversations import file_of
from tests.core.merge.versions import THOROUGH, always_the_same, sessions, turns, values

PATHS = (
    *(
        "sessions/a.jsonl",
        "memory/MEMORY.md",
        "memory/history.jsonl",
        "memory/.cursor",
        "memory/.dream_cursor",
    ),
    *(
        "x.bin",
        "skills/n.txt",
        "d",
        "d/e",
        "l",
        "c.json",
        "q.jsonl",
        ".gitmem",
        ".gitmem/conflicts/x.json",
        "memory",
    ),
)


def is_tree(tree: Tree) -> bool:
    return not any(other.startswith(f"{path}/") for path in tree for other in tree)


LINES = st.lists(st.sampled_from([b"# T", b"- a", b"- b", b"x", b'{"cursor": 1}', b"{}", b"7"]), max_size=4)
DATA = st.one_of(
    st.binary(max_size=8),
    LINES.map(b"\n".join),
    turns.flatmap(sessions),
    st.sampled_from([b"", b"0", b"1", b"2"]),
)
FILES = st.builds(File, DATA, st.sampled_from([MODE_FILE, MODE_EXECUTABLE, MODE_SYMLINK]))
TREES = st.dictionaries(st.sampled_from(PATHS), FILES, max_size=5).map(
    lambda tree: {
        path: file for path, file in tree.items() if not any(p.startswith(f"{path}/") for p in tree)
    }
)


@st.composite
def three_trees(draw: st.DrawFn) -> tuple[Tree, Tree, Tree]:
    base = draw(TREES)
    sides = [
        {path: file for path, file in {**base, **draw(TREES)}.items() if draw(st.integers(0, 3))}
        for _ in range(2)
    ]
    keep = [{p: f for p, f in side.items() if not any(o.startswith(f"{p}/") for o in side)} for side in sides]
    return base, keep[0], keep[1]


def whole(base: Tree, ours: Tree, theirs: Tree) -> Tree:
    return applied(ours, merge_tree(classify_path, base, ours, theirs).files)


@THOROUGH
@given(three_trees())
def test_the_same_from_both_sides_and_nothing_to_do_twice(trees: tuple[Tree, Tree, Tree]) -> None:
    result = always_the_same(whole, *trees, value=lambda tree: tree)
    assert is_tree(result)


@THOROUGH
@given(three_trees())
def test_no_bytes_of_a_file_that_cannot_be_merged_are_lost(trees: tuple[Tree, Tree, Tree]) -> None:
    base, ours, theirs = trees
    result = {file.data for file in whole(*trees).values()}
    for path in ("x.bin", "l", "d", "d/e"):
        for side in (ours, theirs):
            if path in side and side[path] != base.get(path) and side[path].mode == MODE_SYMLINK:
                assert side[path].data in result


def of(**files: bytes) -> dict[str, File]:
    return {path: File(data) for path, data in files.items()}


def merged(base: Tree, ours: Tree, theirs: Tree) -> MergedTree:
    assert whole(base, ours, theirs) == whole(base, theirs, ours)
    return merge_tree(classify_path, base, ours, theirs)


def test_the_loser_of_a_binary_is_kept_beside_it_under_a_name_made_of_its_content() -> None:
    result = merged({}, {"a/pic.png": File(b"\0one")}, {"a/pic.png": File(b"\0two")})
    tree = applied({"a/pic.png": File(b"\0one")}, result.files)
    copy = result.conflicts[0].copy
    assert copy is not None
    assert copy.startswith("a/pic.conflict-")
    assert copy.endswith(".png")
    assert {tree["a/pic.png"].data, tree[copy].data} == {b"\0one", b"\0two"}


def test_the_later_version_of_a_binary_stays_where_the_commits_tell() -> None:
    ours, theirs = {"x.bin": File(b"\0one")}, {"x.bin": File(b"\0two")}
    for newer, wanted in ({"x.bin": 1}, b"\0one"), ({"x.bin": -1}, b"\0two"):
        tree = applied(ours, merge_tree(classify_path, {}, ours, theirs, newer=newer.__getitem__).files)
        assert tree["x.bin"].data == wanted


def test_copies_in_folders_that_an_agent_reads_lie_out_of_its_sight() -> None:
    result = merged({}, {"skills/x/logo.png": File(b"\0one")}, {"skills/x/logo.png": File(b"\0two")})
    copy = result.conflicts[0].copy
    assert copy is not None
    assert copy.startswith(".gitmem/conflicts/files/skills/x/logo.conflict-")


def test_a_copy_never_takes_the_place_of_another_file() -> None:
    ours, theirs = {"x.bin": File(b"\0one")}, {"x.bin": File(b"\0two")}
    copy = merged({}, ours, theirs).conflicts[0].copy
    assert copy is not None
    taken = {copy: File(b"something else")}
    result = merged(taken, {**ours, **taken}, {**theirs, **taken})
    assert copy not in result.files
    assert len(result.conflicts[0].copy or "") > len(copy)


def test_a_file_moves_aside_where_the_other_side_made_a_folder() -> None:
    result = merged({}, {"notes": File(b"a file")}, {"notes/a.txt": File(b"in a folder")})
    tree = applied({"notes": File(b"a file")}, result.files)
    (told,) = result.conflicts
    assert told.kind is ConflictKind.PLACE
    assert told.copy is not None
    assert tree[told.copy].data == b"a file"
    assert tree["notes/a.txt"].data == b"in a folder"


def test_an_edit_beats_a_removal_and_is_told() -> None:
    base = {"memory/topic.md": File(b"one\n")}
    result = merged(base, {}, {"memory/topic.md": File(b"one\n\ntwo\n")})
    assert result.files["memory/topic.md"] == File(b"one\n\ntwo\n")
    assert [told.kind for told in result.conflicts] == [ConflictKind.DELETE]


def test_a_removal_stays_where_the_other_side_did_nothing() -> None:
    base = {"memory/topic.md": File(b"one\n"), "a.txt": File(b"a")}
    assert merged(base, {"a.txt": File(b"b")}, base).files == {}
    assert merged(base, base, {"a.txt": File(b"a")}).files == {"memory/topic.md": None}


def test_who_may_run_a_file_is_merged_apart_from_what_it_says() -> None:
    base = {"skills/run.sh": File(b"a\nb\nc\n")}
    ours = {"skills/run.sh": File(b"a\nb\nc\n", MODE_EXECUTABLE)}
    theirs = {"skills/run.sh": File(b"a\nb\nc\nd\n")}
    result = merged(base, ours, theirs)
    assert result.files == {"skills/run.sh": File(b"a\nb\nc\nd\n", MODE_EXECUTABLE)}
    assert not result.conflicts


def test_two_targets_of_a_link_are_never_mixed() -> None:
    base, ours, theirs = ({"l": File(target, MODE_SYMLINK)} for target in (b"a", b"b", b"c"))
    result = merged(base, ours, theirs)
    tree = applied(ours, result.files)
    assert sorted(file.data for path, file in tree.items() if not path.startswith(".gitmem")) == [b"b", b"c"]
    assert {tree["l"].mode} == {MODE_SYMLINK}


def test_text_merges_by_lines_and_json_only_to_json() -> None:
    lines = merged(*({"t.txt": File(data)} for data in (b"a\nb\nc", b"A\nb\nc", b"a\nb\nC")))
    assert lines.files == {"t.txt": File(b"A\nb\nC")}
    assert not lines.conflicts
    base, ours, theirs = b'{"a": 1,\n\n\n"b": 2}', b'{"a": 1\n\n\n}', b'{"a": 1,\n\n"c": 3,\n\n"b": 2}'
    result = merged(*({"c.json": File(data)} for data in (base, ours, theirs)))
    assert applied({"c.json": File(ours)}, result.files)["c.json"].data in (ours, theirs)
    assert [told.kind for told in result.conflicts] == [ConflictKind.FILE]


def test_files_that_took_the_place_of_a_link_are_not_compared_with_its_target() -> None:
    ours, theirs = {"l": File(b"target")}, {"l": File(b"other")}
    result = merged({"l": File(b"target", MODE_SYMLINK)}, ours, theirs)
    assert {b"target", b"other"} <= {file.data for file in applied(ours, result.files).values()}


def test_a_record_of_a_conflict_is_the_same_on_every_machine() -> None:
    base, ours, theirs = ({"USER.md": File(data)} for data in (b"- a\n", b"- b\n", b"- c\n"))
    result = merged(base, ours, theirs)
    (path,) = (path for path in result.files if path.startswith(".gitmem/conflicts/"))
    record = result.files[path]
    assert record is not None
    assert json.loads(record.data) == {
        "path": "USER.md",
        "kind": "edit/edit",
        "base": "- a",
        "values": ["- b", "- c"],
    }
    assert not merge_tree(classify_path, base, ours, theirs, record=False).files.keys() - {"USER.md"}


@pytest.mark.parametrize(
    ("path", "copy"),
    [
        ("a/b.tar.gz", "a/b.tar.conflict-HASH.gz"),
        ("noext", "noext.conflict-HASH"),
        (".hidden", ".gitmem/conflicts/files/.hidden.conflict-HASH"),
        ("memory/x.bin", ".gitmem/conflicts/files/memory/x.conflict-HASH.bin"),
        ("\udcff.bin", "\udcff.conflict-HASH.bin"),
    ],
)
def test_copies_are_named_by_their_content(path: str, copy: str) -> None:
    assert copy_path(path, b"x") == copy.replace("HASH", digest(b"x")[:8])


def test_names_of_copies_fit_into_a_file_system() -> None:
    name = copy_path(f"a/{'é' * 120}.bin", b"x").removeprefix("a/")
    assert len(name.encode()) <= 255
    assert name.endswith(f".conflict-{digest(b'x')[:8]}.bin")


@pytest.mark.parametrize("path", ["skills/x", "sessions/a.jsonl"])
@pytest.mark.parametrize(
    "file", [File(b"old", MODE_SYMLINK), File(b"new", MODE_SYMLINK), File(b"old", MODE_EXECUTABLE)]
)
def test_a_file_that_became_something_else_is_not_removed_with_the_old_one(path: str, file: File) -> None:
    result = merged({path: File(b"old")}, {}, {path: file})
    assert result.files[path] == file
    assert [told.kind for told in result.conflicts] == [ConflictKind.DELETE]


def queue(*entries: tuple[int, str], dreamed: int) -> dict[str, File]:
    records = [{"cursor": n, "timestamp": "2026-03-01 10:00", "content": text} for n, text in entries]
    return of(
        **{
            "memory/history.jsonl": file_of(*records),
            "memory/.cursor": b"%d" % max(n for n, _ in entries),
            "memory/.dream_cursor": b"%d" % dreamed,
        }
    )


def test_numbers_of_a_base_that_is_no_commit_are_known_to_nobody() -> None:
    """P7, found by the simulator: a Dream under way here writes its 4 when this is installed; `d` has to have a greater one.

    Two commits, and what two machines made of both: ours merged them, and so has the numbers that their virtual base has.
    """
    old = queue((1, "a"), dreamed=1)
    one, two = (queue((1, "a"), (2, text), dreamed=1) for text in "bc")
    ours = applied(one, merge_tree(classify_path, old, one, two).files)
    base = applied(one, merge_tree(classify_path, old, one, two, record=False).files)
    theirs = queue((1, "a"), (2, "c"), (3, "b"), (4, "d"), dreamed=3)
    assert values(ours["memory/history.jsonl"].data)[-1]["cursor"] == 4
    result = applied(ours, merged(base, ours, theirs).files)
    entries = {entry["content"]: entry["cursor"] for entry in values(result["memory/history.jsonl"].data)}
    assert entries["d"] > 4
    assert result["memory/.cursor"].data == b"%d" % entries["d"]


def test_a_base_that_is_no_commit_has_no_copies_that_a_side_could_seem_to_have_removed() -> None:
    """P4, found by the simulator: the copy that one side made stays, though the version is at its path on the other."""
    one, two = (of(**{"media/x.bin": data}) for data in (b"\0one", b"\0two"))
    both = merged({}, one, two)
    copy = both.conflicts[0].copy
    assert copy is not None
    theirs = applied(one, both.files)
    loser = theirs[copy]
    base = applied(one, merge_tree(classify_path, {}, one, two, record=False).files)
    assert applied({"media/x.bin": loser}, merged(base, {"media/x.bin": loser}, theirs).files)[copy] == loser
    place = merge_tree(classify_path, {}, of(d=b"x"), of(**{"d/e": b"y"}), record=False)
    assert applied(of(d=b"x"), place.files) == of(**{"d/e": b"y"})
