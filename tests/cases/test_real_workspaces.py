"""What gitmem tells of workspaces that real releases of an agent wrote, where they lie beside the project."""

import tarfile

import pytest

from gitmem.core import checkpoint
from gitmem.core.classify import classify
from gitmem.core.model import Change, File, PathClass, TreePath
from gitmem.core.paths import classify_path
from tests.cases.shared import workspaces

Tree = dict[TreePath, File]


@pytest.fixture(scope="module")
def trees() -> dict[str, Tree]:
    """Scenario -> the files that would be committed; sessions that lie outside a workspace are mapped in."""
    found: dict[str, Tree] = {}
    with tarfile.open(workspaces()) as archive:
        for member in archive:
            parts = member.name.removeprefix("./").split("/")
            if not member.isfile() or len(parts) < 3:
                continue
            path = "/".join(parts[2:])
            if parts[1] == "cfg":
                path = f"sessions/{parts[-1]}" if path.startswith("sessions/") else ""
            kind = classify_path(path)
            stream = archive.extractfile(member)
            if not path or not kind.versioned or stream is None:
                continue
            data = stream.read()
            stripped = checkpoint.strip(data) if kind is PathClass.SESSION else data
            found.setdefault(parts[0], {})[path] = File(stripped)
    return found


def told(old: Tree, new: Tree) -> list[str]:
    changes = [
        Change(path, old.get(path), new.get(path))
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    ]
    return [snapshot.message.subject for snapshot in classify(changes, classify_path)]


STORY = [
    ("init", "plain", ["session(cli:direct): +2 messages (user, assistant)"]),
    (
        "plain",
        "tool",
        ["session(cli:direct): +7 messages (1 user, 3 assistant, 3 tool)", "edit(notes.md): new, +1"],
    ),
    (
        "killslow",
        "restart",
        [
            "session(cli:kill): +5 messages (2 assistant, 2 tool, 1 user)",
            "session(cli:kill2): +5 messages (2 user, 2 assistant, 1 tool)",
        ],
    ),
    (
        "compact",
        "dream",
        [
            "dream: history 1..3 -> USER.md +2, MEMORY.md +1",
            "session(cli:direct): +2 messages (user, assistant)",
        ],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), STORY)
def test_the_story_of_0_2(trees: dict[str, Tree], before: str, after: str, expected: list[str]) -> None:
    assert told(trees[f"0.2.2-{before}"], trees[f"0.2.2-{after}"]) == expected


@pytest.mark.parametrize(("before", "after", "expected"), STORY[:3])
def test_the_story_of_0_3_is_the_same(
    trees: dict[str, Tree], before: str, after: str, expected: list[str]
) -> None:
    assert told(trees[f"head-{before}"], trees[f"head-{after}"]) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("0.2.2-restart", "0.2.2-consol", "consolidate(cli:big): messages 0..14 -> history 1..2"),
        ("0.2.2-consol", "0.2.2-compact", "consolidate(cli:direct): messages 0..2 -> history 3"),
        ("head-restart", "head-consol", "consolidate(cli:big): messages 0..16 -> history 1..5, raw"),
        ("head-consol", "head-compact", "consolidate(cli:direct): messages 0..11 -> history 6"),
    ],
)
def test_history_cursor_and_session_of_a_consolidation_are_one_commit(
    trees: dict[str, Tree], before: str, after: str, expected: str
) -> None:
    assert told(trees[before], trees[after]) == [expected]


def test_nothing_of_an_agents_own_repository_or_identity_is_kept(trees: dict[str, Tree]) -> None:
    for tree in trees.values():
        assert not [path for path in tree if ".git" in path or ".nanobot" in path or path.endswith(".lock")]
