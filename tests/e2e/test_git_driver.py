"""Plain git with our merge driver gives what a sync gives, and no conflict markers."""

import subprocess
from pathlib import Path

import pytest

from gitmem.core.session import parse
from tests.e2e.running import gitmem
from tests.engines import make_workspace, said, session_bytes, talk

pytestmark = pytest.mark.slow


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=p", "-c", "user.email=p@x")
    return subprocess.run(
        ["git", "-C", root, *who, *words], capture_output=True, text=True, check=True
    ).stdout


def test_a_persons_own_merge_keeps_both_sides(tmp_path: Path) -> None:
    root = make_workspace(tmp_path / "ws")
    memory, path = root / "memory" / "MEMORY.md", root / "sessions" / "cli_x.jsonl"
    path.write_bytes(session_bytes("cli:x", talk(1)))
    gitmem("init", root)
    before = (root / ".git" / "config").read_text()
    gitmem("-C", root, "hooks", "install", "git")
    gitmem("-C", root, "hooks", "install", "git")
    main = git(root, "branch", "--show-current").strip()
    git(root, "branch", "other")
    for branch, name, number in (("other", "from other", 10), (main, "from ours", 20)):
        git(root, "checkout", "-q", branch)
        memory.write_text(memory.read_text() + f"- {name}\n")
        path.write_bytes(session_bytes("cli:x", [*talk(1), said(number)]))
        git(root, "commit", "-qam", name)
    git(root, "merge", "-q", "--no-edit", "other")
    assert memory.read_text().count("- from other\n") == memory.read_text().count("- from ours\n") == 1
    assert "<<<<" not in memory.read_text()
    texts = [message["content"] for message in parse(path.read_bytes()).messages]
    assert texts == ["m00", "m01", "m10", "m20"]
    assert "merges as a sync does" in gitmem("-C", root, "hooks", "status", "git").stdout
    gitmem("-C", root, "hooks", "uninstall", "git")
    assert (root / ".git" / "config").read_text() == before


def test_what_cannot_be_merged_is_left_to_the_person(tmp_path: Path) -> None:
    for name, data in (("base", b"\0a"), ("ours", b"\0b"), ("theirs", b"\0c")):
        (tmp_path / name).write_bytes(data)
    words = [tmp_path / name for name in ("base", "ours", "theirs")]
    assert gitmem("merge-file", *words, "picture.png", check=False).returncode == 1
    assert (tmp_path / "ours").read_bytes() == b"\0b"
