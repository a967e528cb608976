from pathlib import Path

from gitmem.actions.compare import against_disk
from gitmem.core.model import Change, File, Kind
from gitmem.edges.opened import open_workspace
from gitmem.edges.repo import Repository
from tests.histories import History, new_workspace


def test_the_disk_is_compared_as_it_would_be_committed(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "ws")
    with Repository(workspace.git) as repo:
        history = History(repo)
        first = repo.info(history.add(Kind.INIT, {"SOUL.md": b"old\n", "USER.md": b"x\n"}))
        history.add(Kind.EDIT, {"SOUL.md": b"new\n"})
    (workspace.directory / "SOUL.md").write_bytes(b"new\n")
    (workspace.directory / ".env").write_bytes(b"SECRET=1\n")
    (workspace.directory / "memory").mkdir()
    (workspace.directory / "memory/MEMORY.md").write_bytes(b"- tea\n")
    added = Change("memory/MEMORY.md", None, File(b"- tea\n"))
    removed = Change("USER.md", File(b"x\n"), None)
    with open_workspace(workspace) as opened:
        assert list(against_disk(opened)) == [removed, added]
        assert list(against_disk(opened, paths=("memory",))) == [added]
        soul = Change("SOUL.md", File(b"old\n"), File(b"new\n"))
        assert list(against_disk(opened, first)) == [soul, removed, added]


def test_a_file_that_a_writer_is_in_the_middle_of_is_shown_as_it_is(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "ws")
    path = "sessions/cli_direct.jsonl"
    with Repository(workspace.git) as repo:
        History(repo).add(Kind.INIT, {path: b'{"role": "user", "content": "a"}\n'})
    (workspace.directory / "sessions").mkdir()
    (workspace.directory / path).write_bytes(b'{"role": "us')
    with open_workspace(workspace) as opened:
        assert [change.new for change in against_disk(opened)] == [File(b'{"role": "us')]


def test_an_empty_disk_before_the_first_commit_is_no_difference(tmp_path: Path) -> None:
    workspace = new_workspace(tmp_path / "ws")
    with open_workspace(workspace) as opened:
        assert list(against_disk(opened)) == []
