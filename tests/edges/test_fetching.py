"""What a remote sends is believed only when it is whole and harmless (cases B75, B93, B96)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from gitmem.actions import begin
from gitmem.edges import incoming, remotes, workspace
from gitmem.edges.opened import open_workspace
from gitmem.errors import RemoteError

BRANCH = "refs/heads/main"
Make = Callable[[Repo], ObjectID]


def commit(repo: Repo, tree: Tree, *, time: int = 1_700_000_000, name: ObjectID | None = None) -> ObjectID:
    made = Commit()
    made.tree = name or tree.id
    made.author = made.committer = b"x <x@x>"
    made.author_time = made.commit_time = time
    made.author_timezone = made.commit_timezone = 0
    made.message = b"x"
    for item in (tree, made):
        repo.object_store.add_object(item)
    return made.id


def blob(repo: Repo) -> ObjectID:
    item = Blob.from_string(b"- x\n")
    repo.object_store.add_object(item)
    return item.id


def tree(*entries: tuple[bytes, int, ObjectID]) -> Tree:
    made = Tree()
    for name, mode, sha in entries:
        made.add(name, mode, sha)
    return made


def fetched(tmp_path: Path, make: Make) -> tuple[Path, str | None]:
    hub = tmp_path / "hub.git"
    hub.mkdir()
    with Repo.init_bare(str(hub)) as repo:
        repo.refs[Ref(BRANCH.encode())] = make(repo)
    root = tmp_path / "ws"
    root.mkdir()
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    remote = remotes.add(root / ".git", "hub", str(hub))
    return root, incoming.fetch(root / ".git", remote, BRANCH, deadline=30).sha


def test_a_whole_history_is_taken_and_is_private(tmp_path: Path) -> None:
    root, sha = fetched(tmp_path, lambda repo: commit(repo, tree((b"a.md", 0o100644, blob(repo)))))
    assert sha is not None
    with open_workspace(workspace.find(root)) as opened:
        assert list(opened.repo.files(sha)) == ["a.md"]
    packs = list((root / ".git" / "objects" / "pack").iterdir())
    assert packs
    assert all(path.stat().st_mode & 0o077 == 0 for path in packs)


@pytest.mark.parametrize(
    "make",
    [
        lambda repo: commit(repo, tree((b".git", 0o100644, blob(repo)))),
        lambda repo: commit(repo, tree((b"..", 0o100644, blob(repo)))),
        lambda repo: commit(repo, tree((b"a\\b", 0o100644, blob(repo)))),
        lambda repo: commit(repo, tree((b"CON.md", 0o100644, blob(repo)))),
        lambda repo: commit(repo, tree(), time=1 << 40),
        lambda repo: commit(repo, tree(), name=blob(repo)),
        blob,
    ],
    ids=["git", "dots", "backslash", "device", "time", "tree-is-blob", "branch-is-blob"],
)
def test_b96_what_is_odd_is_refused_and_not_kept(tmp_path: Path, make: Make) -> None:
    with pytest.raises(RemoteError) as caught:
        fetched(tmp_path, make)
    assert caught.value.state == "protocol"


def test_an_empty_remote_has_nothing(tmp_path: Path) -> None:
    hub = tmp_path / "hub.git"
    hub.mkdir()
    Repo.init_bare(str(hub)).close()
    root = tmp_path / "ws"
    root.mkdir()
    begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
    remote = remotes.add(root / ".git", "hub", str(hub))
    assert incoming.fetch(root / ".git", remote, BRANCH, deadline=30).sha is None
