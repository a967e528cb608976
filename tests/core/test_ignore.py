"""Patterns mean what they mean in a .gitignore; git itself is the judge where it is installed."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from gitmem.core import ignore

ALLOW_LIST = [
    "/*",
    "!/memory/",
    "!/SOUL.md",
    "!/skills/",
    "memory/*",
    "!memory/MEMORY.md",
    "skills/**",
    "!skills/**/",
    "!skills/**/SKILL.md",
]
PATTERNS = [
    *ALLOW_LIST, "!/a/", "!memory/x.md", "a/**", "!a/**/", "!a/**/SKILL.md", "*.env", "build/", "!build/x.md",
    "/build/*", "**/b/",
    "!b/", "[^x]bc.md", "!*.md", "a/b/**/x.md", "x.md", "/x.md", "!y.env", "b/*", "a/*/", "!a/b/", "a/", "**",
    "a/**/x.md", "[ab]/",
    "*.m?", "?", "**/build", "\\!x", "x.md ", "b**", "[!a-m].md", "a\\*", "# no", "", "[", "*.[[:alpha:]]d",
]  # fmt: skip
FOLDERS = ["a", "b", "memory", "build"]
NAMES = ["x.md", "y.env", "SKILL.md", "abc.md"]


def test_b32_an_allow_list_keeps_new_files_in_otherwise_ignored_folders() -> None:
    patterns = ignore.parse(ALLOW_LIST)
    kept = ["SOUL.md", "memory/MEMORY.md", "skills/a/SKILL.md", "skills/a/b/SKILL.md"]
    dropped = [
        ".env",
        "memory/tokens.env",
        "memory/sub/MEMORY.md",
        "skills/top.md",
        "skills/a/key.pem",
        "x/y.md",
    ]
    assert [path for path in kept if patterns.match(path)] == []
    assert [path for path in dropped if not patterns.match(path)] == []


def test_nothing_returns_out_of_an_excluded_folder() -> None:
    assert ignore.parse(["build/", "!build/x.md"]).match("build/x.md")


def test_escaped_signs_are_plain_characters() -> None:
    patterns = ignore.parse(["\\#keep.md", "\\!x", "two\\ "])
    assert patterns.match("#keep.md")
    assert patterns.match("!x")
    assert patterns.match("two ")


@pytest.mark.skipif(shutil.which("git") is None, reason="plain git is not installed")
@pytest.mark.parametrize("seed", range(12))
def test_git_agrees_on_random_lists(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    paths = {
        "/".join([*chance.choices(FOLDERS, k=chance.randint(0, 3)), chance.choice(NAMES)]) for _ in range(60)
    }
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for _ in range(6):
        lines = chance.sample(PATTERNS, chance.randint(1, 8))
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n")
        asked = subprocess.run(
            ["git", "-C", tmp_path, "check-ignore", "--no-index", "--stdin"],
            input="\n".join(paths), capture_output=True, text=True, check=False,
        )  # fmt: skip
        patterns = ignore.parse(lines)
        assert {path for path in paths if patterns.match(path)} == set(asked.stdout.split("\n")) - {""}, lines
