"""A sync killed before each write, rename, unlink and fsync of it: the next one ends with both machines alike (I4)."""

import os
import shutil
from pathlib import Path

import pytest
from dulwich.object_store import DiskObjectStore

from gitmem import syncing
from gitmem.actions import begin, install, recover, sync
from gitmem.core import history
from gitmem.core.session import parse
from gitmem.edges import bare, remotes, workspace
from gitmem.edges.config import load
from gitmem.edges.opened import Opened, open_workspace
from tests.crash.killing import LIMIT, fsck, run_until
from tests.engines import LONG_AGO, said, session_bytes, talk

SHARES = 4
"""The kills are shared out among so many tests, which run side by side."""


class Direct:
    """The way to a bare repository in the same process: what is killed must not leave processes behind."""

    def __init__(self, opened: Opened, hub: Path) -> None:
        self.ours = opened.repo.store
        self.theirs = DiskObjectStore(str(hub / "objects"))
        self.hub = hub

    def fetch(self, branch: str) -> str | None:
        ref = self.hub / branch
        if not ref.exists():
            return None
        self._copy(self.theirs, self.ours)
        return ref.read_text().strip()

    def push(self, branch: str, sha: str, theirs: str | None) -> bool:
        ref = self.hub / branch
        if (ref.read_text().strip() if ref.exists() else None) != theirs:
            return False
        self._copy(self.ours, self.theirs)
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(sha + "\n")
        return True

    @staticmethod
    def _copy(source: DiskObjectStore, target: DiskObjectStore) -> None:
        for name in source:
            if name not in target:
                target.add_object(source[name])


def on(root: Path, hub: Path) -> None:
    """What a machine does at a start: recover, sync, install."""
    with open_workspace(workspace.find(root), load(root, {"host": root.name})) as opened:
        recover.recover(opened)
        place = remotes.get(root / ".git", "hub")
        way = Direct(opened, hub)
        sync.sync(opened, place, way, syncing.committer(opened))
        install.install(opened)
        opened.repo.store.close()
        way.theirs.close()


def files(root: Path) -> dict[str, bytes]:
    found = [p for p in root.rglob("*") if p.is_file() and ".git" not in p.parts]
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in found
        if not p.name.endswith((".lock", ".tmp"))
    }


def write(root: Path, path: str, data: bytes) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    os.utime(place, (LONG_AGO, LONG_AGO))


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Two machines and a hub, apart since both wrote."""
    world = tmp_path / "world"
    hub = world / "hub.git"
    world.mkdir()
    bare.create(hub)
    for name in ("a", "b"):
        root = world / name
        (root / "memory").mkdir(parents=True)
        begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
        remotes.add(root / ".git", "hub", str(hub), sync=True)
    a, b = world / "a", world / "b"
    write(a, "memory/MEMORY.md", b"# Memory\n\n- one\n- two\n")
    write(a, "sessions/cli_x.jsonl", session_bytes("cli:x", talk(1)))
    for root in (a, b, a, b):
        on(root, hub)
    for root in (a, b):
        text = root.name.encode()
        write(root, "memory/MEMORY.md", b"# Memory\n\n- one\n- two\n- from " + text + b"\n")
        write(root, "memory/history.jsonl", history.append(b"", 1, "2026-01-05 09:00", f"from {root.name}"))
        write(root, "memory/.cursor", b"1")
        write(root, "sessions/cli_x.jsonl", session_bytes("cli:x", [*talk(1), said(10 + ord(root.name) % 2)]))
    on(a, hub)
    return world


@pytest.mark.parametrize("share", range(SHARES))
def test_a_sync_killed_anywhere_is_made_good_by_the_next_one(world: Path, share: int) -> None:
    a, b, hub = world / "a", world / "b", world / "hub.git"
    saved = world.with_name("saved")
    shutil.copytree(world, saved, symlinks=True)
    kills = 0
    for point in range(share, LIMIT, SHARES):
        if not run_until(lambda: on(b, hub), point):
            break
        kills += 1
        if kills % 5 == 2:
            run_until(lambda: on(b, hub), point)
        check(a, b, hub)
        shutil.rmtree(world)
        shutil.copytree(saved, world, symlinks=True)
    check(a, b, hub)
    assert kills > 60 // SHARES


def check(a: Path, b: Path, hub: Path) -> None:
    for root in (b, a, b, a):
        on(root, hub)
    assert files(a) == files(b)
    memory = (a / "memory" / "MEMORY.md").read_text()
    assert memory.count("- from a\n") == memory.count("- from b\n") == 1
    entries = history.parse((a / "memory" / "history.jsonl").read_bytes()).entries
    assert sorted(entry.content for entry in entries) == ["from a", "from b"]
    assert len({entry.cursor for entry in entries}) == 2
    messages = parse((a / "sessions" / "cli_x.jsonl").read_bytes()).messages
    assert sorted(message["content"] for message in messages) == ["m00", "m01", "m10", "m11"]
    fsck(b)
