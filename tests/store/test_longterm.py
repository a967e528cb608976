"""Long-term files: a write never removes what others added meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.errors import StaleMemory, UnsafePath, UsageError
from gitmem.store import MemoryStore, Text

FILE = "memory/MEMORY.md"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    (tmp_path / "memory").mkdir()
    (tmp_path / FILE).write_text("- a\n")
    return MemoryStore(tmp_path)


def test_b23_a_stale_write_keeps_what_others_added(tmp_path: Path, store: MemoryStore) -> None:
    known = store.read(FILE)
    (tmp_path / FILE).write_text("- a\n- b\n- c\n")
    now = store.write(known, "- a, corrected\n")
    assert now.text == (tmp_path / FILE).read_text() == "- a, corrected\n- b\n- c\n"
    assert store.write(now, now.text + "- d\n").text.endswith("- c\n- d\n")


def test_two_edits_of_one_fact_are_not_mixed(tmp_path: Path, store: MemoryStore) -> None:
    known = store.read(FILE)
    (tmp_path / FILE).write_text("- a of theirs\n")
    with pytest.raises(StaleMemory):
        store.write(known, "- a of mine\n")
    assert (tmp_path / FILE).read_text() == "- a of theirs\n"


def test_a_missing_file_is_begun_and_is_private(tmp_path: Path, store: MemoryStore) -> None:
    assert store.read("USER.md").data is None
    store.write(store.read("USER.md"), "- tea\n")
    assert (tmp_path / "USER.md").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "path",
    [
        *("notes.md", "../x.md", "sessions/x.jsonl", "skills/../../x/SKILL.md", "skills/A/SKILL.md"),
        *("../outside.md", "/etc/hosts", "memory/../../x", "skills/../.git/hooks/pre-commit", "soul.md"),
        *("memory/MEMORY.md/../../../x", "skills/x/SKILL.md\0.png", ".GIT/config", "memory/history.jsonl"),
        *("memory/.dream_cursor", "skills/x/y/SKILL.md", "skills/x/SKILL.md\n", "", "prompts/other.md"),
    ],
)
def test_b94_other_files_are_none_of_its_business(tmp_path: Path, store: MemoryStore, path: str) -> None:
    with pytest.raises(UsageError):
        store.read(path)
    with pytest.raises(UsageError):
        store.write(Text(path, None), "x")
    with pytest.raises(UsageError):
        store.write(path, "x")
    assert sorted(item.name for item in tmp_path.rglob("*")) == ["MEMORY.md", "memory"]


def test_a_link_is_never_written_through(tmp_path: Path, store: MemoryStore) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "skills").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePath):
        store.write(store.read("skills/x/SKILL.md"), "x")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_skills_are_told_by_their_front_matter(tmp_path: Path, store: MemoryStore) -> None:
    folder = tmp_path / "skills" / "ship"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text('---\nname: ship\ndescription: "How to ship."\n---\n\n1. make\n')
    (tmp_path / "skills" / "Odd Name").mkdir()
    (tmp_path / "skills" / "linked").symlink_to(folder)
    (tmp_path / "skills" / "half").mkdir()
    (tmp_path / "skills" / "half" / "SKILL.md").symlink_to(folder / "SKILL.md")
    assert [(skill.name, skill.description) for skill in store.skills()] == [("ship", "How to ship.")]


WRITER = """
import sys
from pathlib import Path
from gitmem.store import MemoryStore
store = MemoryStore(Path(sys.argv[1]))
for number in range(100):
    known = store.read("memory/MEMORY.md")
    store.write(known, known.text + f"- {sys.argv[2]} {number}\\n")
"""


def test_b23_two_processes_with_a_hundred_additions_each_lose_none(
    tmp_path: Path, store: MemoryStore
) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait(90) for writer in writers] == [0, 0]
    lines = store.read(FILE).text.split("\n")
    assert all(lines.count(f"- {name} {number}") == 1 for name in "ab" for number in range(100))
