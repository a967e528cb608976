"""The record of remotes, and bare repositories as their targets."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.edges import bare, remotes
from gitmem.errors import ConfigError, NotFound, UsageError
from tests.edges.repos import new_repo, read_ref, set_ref


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


def test_a_remote_is_added_listed_and_removed(git_dir: Path) -> None:
    when = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
    added = remotes.add(git_dir, "nas", "git@nas.example:mem.git", now=when)
    assert added.created == "2026-01-05T09:00:00+00:00"
    assert remotes.load(git_dir) == [added]
    assert remotes.get(git_dir, "nas") == added
    assert remotes.remove(git_dir, "nas") == added
    assert remotes.load(git_dir) == []


def test_b93_the_record_is_private(git_dir: Path) -> None:
    old = os.umask(0o022)
    try:
        remotes.add(git_dir, "nas", "/srv/x.git")
    finally:
        os.umask(old)
    assert remotes.record(git_dir).stat().st_mode & 0o777 == 0o600


def test_b98_what_the_repository_configures_is_no_remote(tmp_path: Path) -> None:
    git_dir = new_repo(tmp_path / "ws.git", '[remote "origin"]\n\turl = ext::sh -c "touch x"\n')
    assert remotes.load(git_dir) == []
    with pytest.raises(NotFound):
        remotes.get(git_dir, "origin")


def test_a_name_is_taken_once(git_dir: Path) -> None:
    remotes.add(git_dir, "nas", "/srv/x.git")
    with pytest.raises(UsageError, match="already"):
        remotes.add(git_dir, "nas", "/srv/y.git")
    assert remotes.get(git_dir, "nas").url.path == "/srv/x.git"


@pytest.mark.parametrize(
    "name", ["", "-x", ".x", "a..b", "a.lock", "a/b", "a b", "x" * 65, "ü", "a.", "..", "a\n"]
)
def test_a_name_must_be_fit_for_a_ref(git_dir: Path, name: str) -> None:
    with pytest.raises(UsageError):
        remotes.add(git_dir, name, "/srv/x.git")


def test_a_password_never_reaches_the_disk(git_dir: Path) -> None:
    with pytest.raises(UsageError):
        remotes.add(git_dir, "nas", "https://me:t0ps3cret@example.org/x")
    assert not [path for path in git_dir.rglob("*") if path.is_file() and b"t0ps3cret" in path.read_bytes()]


def test_a_relative_path_is_kept_absolute(
    git_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert remotes.add(git_dir, "here", "backup.git").url.path == str(tmp_path / "backup.git")
    assert remotes.get(git_dir, "here").url.path == str(tmp_path / "backup.git")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"remotes": []}',
        '{"remotes": {"x": {}}}',
        '{"remotes": {"x": {"url": 5}}}',
        json.dumps({"remotes": {"x": {"url": "ext::sh -c x"}}}),
        json.dumps({"remotes": {"../x": {"url": "/srv/x"}}}),
    ],
)
def test_a_damaged_record_is_named_and_not_used(git_dir: Path, text: str) -> None:
    remotes.record(git_dir).write_text(text)
    with pytest.raises(ConfigError, match=r"remotes\.json"):
        remotes.load(git_dir)


def test_removing_forgets_what_was_seen_there_and_nothing_else(git_dir: Path) -> None:
    remotes.add(git_dir, "nas", "/srv/x.git")
    for ref in ("refs/remotes/nas/main", "refs/remotes/nasty/main", "refs/heads/main"):
        set_ref(git_dir, ref, "1" * 40)
    remotes.remove(git_dir, "nas")
    assert read_ref(git_dir, "refs/remotes/nas/main") is None
    assert read_ref(git_dir, "refs/remotes/nasty/main") == read_ref(git_dir, "refs/heads/main") == "1" * 40


def test_only_branches_have_a_tracking_ref(git_dir: Path) -> None:
    remote = remotes.add(git_dir, "nas", "/srv/x.git")
    assert remote.tracking("refs/heads/a/b") == "refs/remotes/nas/a/b"
    assert remote.tracking("refs/gitmem/inflight/host") is None


def test_b93_a_new_bare_repository_is_private_and_usable(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        made = bare.create(tmp_path / "new" / "backup.git")
    finally:
        os.umask(old)
    bare.check(made)
    for path in (made, *made.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    assert [path.name for path in made.parent.iterdir()] == ["backup.git"]


def test_a_bare_repository_is_not_made_over_something(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    bare.create(tmp_path / "x")
    (tmp_path / "y").write_text("mine")
    for name in ("x", "y"):
        with pytest.raises(UsageError, match="exists"):
            bare.create(tmp_path / name)
    assert (tmp_path / "y").read_text() == "mine"


def test_a_path_inside_the_workspace_is_seen_through_links(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    (workspace / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(workspace / "sub")
    assert bare.is_inside(workspace / "backup.git", workspace)
    assert bare.is_inside(workspace, workspace)
    assert bare.is_inside(tmp_path / "link" / "x.git", workspace)
    assert not bare.is_inside(tmp_path / "ws2", workspace)
    assert not bare.is_inside(workspace / ".." / "x.git", workspace)
