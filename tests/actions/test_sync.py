"""Two machines and a remote: everything arrives, nothing comes twice, both end alike, and then they are silent."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import syncing
from gitmem.actions import begin, install
from gitmem.actions.sync import Synced, accept
from gitmem.core import history
from gitmem.core.merge.commits import Decision
from gitmem.core.model import Kind
from gitmem.core.session import parse
from gitmem.edges import bare, remotes, workspace
from gitmem.edges.config import load
from gitmem.edges.opened import Opened, open_workspace
from gitmem.errors import NeedsDecision, RemoteError
from tests.engines import LONG_AGO, said, session_bytes, talk

Machine = Callable[[str], Path]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    bare.create(tmp_path / "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def machine(tmp_path: Path, remote: Path) -> Machine:
    """Makes machines with an empty workspace that sync with the remote."""

    def make(name: str) -> Path:
        root = tmp_path / name
        (root / "memory").mkdir(parents=True)
        (root / "sessions").mkdir()
        begin.begin(begin.plan(root, "native", None, adopt=False, separate=False))
        remotes.add(root / ".git", "hub", str(remote), sync=True)
        return root

    return make


def on(root: Path, work: Callable[[Opened], object]) -> object:
    with open_workspace(workspace.find(root), load(root, {"host": root.name})) as opened:
        return work(opened)


def sync(root: Path, *, join: bool = False) -> Synced:
    def work(opened: Opened) -> Synced:
        return syncing.cycle(opened, remotes.get(root / ".git", "hub"), join=join)[0]

    done = on(root, work)
    assert isinstance(done, Synced)
    return done


def capture(root: Path) -> None:
    on(root, lambda opened: syncing.committer(opened)())


def write(root: Path, path: str, data: bytes | str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data if isinstance(data, bytes) else data.encode())
    os.utime(place, (LONG_AGO, LONG_AGO))


def files(root: Path) -> dict[str, bytes]:
    found = [p for p in root.rglob("*") if p.is_file() and ".git" not in p.parts and p.suffix != ".lock"]
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in found}


def settle(*roots: Path) -> int:
    """Sync round after round until nobody has anything new; the number of rounds."""
    for rounds in range(10):
        if all(sync(root).decision is Decision.SAME for root in roots):
            return rounds
    raise AssertionError("they never end")


@pytest.fixture
def pair(machine: Machine) -> tuple[Path, Path]:
    """Two machines that share a memory."""
    a, b = machine("a"), machine("b")
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n")
    write(a, "sessions/cli_x.jsonl", session_bytes("cli:x", talk(2)))
    settle(a, b)
    assert files(a) == files(b)
    return a, b


def test_a_save_of_one_machine_is_on_the_other_after_both_synced(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- three\n")
    sync(a)
    assert sync(b).decision is Decision.FORWARD
    assert (b / "memory" / "MEMORY.md").read_text() == "# Memory\n\n- one\n- two\n- three\n"


def test_what_both_wrote_while_apart_is_on_both_and_then_they_are_silent(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- from a\n")
    write(b, "memory/MEMORY.md", "# Memory\n\n- one, corrected\n- two\n- from b\n")
    write(a, "sessions/cli_x.jsonl", session_bytes("cli:x", [*talk(2), said(10), said(11, "assistant")]))
    write(b, "sessions/cli_x.jsonl", session_bytes("cli:x", [*talk(2), said(20), said(21, "assistant")]))
    write(b, "notes.md", "- new\n")
    settle(a, b)
    assert files(a) == files(b)
    text = (a / "memory" / "MEMORY.md").read_text()
    assert "- one, corrected" in text
    assert "- one\n" not in text
    assert text.count("- from a") == text.count("- from b") == 1
    messages = parse((a / "sessions" / "cli_x.jsonl").read_bytes()).messages
    assert [message["content"] for message in messages] == [
        "m00",
        "m01",
        "m02",
        "m03",
        "m10",
        "m11",
        "m20",
        "m21",
    ]
    heads = {on(root, lambda opened: opened.repo.head()) for root in pair}
    assert len(heads) == 1
    for root in (a, b, a, b):
        assert sync(root).decision is Decision.SAME


def test_two_machines_that_gave_out_the_same_cursor_keep_both_entries(pair: tuple[Path, Path]) -> None:
    for root, text in zip(pair, ("from a", "from b"), strict=True):
        write(root, "memory/history.jsonl", history.append(b"", 1, "2026-01-05 09:00", text))
        write(root, "memory/.cursor", "1")
    a, b = pair
    settle(a, b)
    entries = history.parse((a / "memory" / "history.jsonl").read_bytes()).entries
    assert sorted(entry.content for entry in entries) == ["from a", "from b"]
    assert [entry.cursor for entry in entries] == sorted({entry.cursor for entry in entries})
    assert files(a) == files(b)


def test_b77_a_removal_reaches_the_other_machine_unless_it_was_edited_there(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "plain.md", "- x\n")
    write(a, "edited.md", "- x\n")
    settle(a, b)
    (a / "plain.md").unlink()
    (a / "edited.md").unlink()
    write(b, "edited.md", "- x\n- y\n")
    settle(a, b)
    for root in pair:
        assert not (root / "plain.md").exists()
        assert (root / "edited.md").read_text() == "- x\n- y\n"


def test_an_agent_that_writes_from_an_old_memory_loses_nothing_of_the_others(pair: tuple[Path, Path]) -> None:
    """I1: b's agent holds the session in memory, never reads what was merged into the file, and overwrites it again and again."""
    a, b = pair
    held = talk(2)
    for number in range(5):
        known = list(parse((a / "sessions" / "cli_x.jsonl").read_bytes()).messages)
        write(a, "sessions/cli_x.jsonl", session_bytes("cli:x", [*known, said(30 + number)]))
        sync(a)
        sync(b)
        held = [*held, said(50 + number)]
        write(b, "sessions/cli_x.jsonl", session_bytes("cli:x", held))
        sync(b)
    settle(a, b)
    assert files(a) == files(b)
    texts = [m["content"] for m in parse((a / "sessions" / "cli_x.jsonl").read_bytes()).messages]
    wanted = [f"m{n:02}" for n in (*range(4), *range(30, 35), *range(50, 55))]
    assert sorted(texts) == wanted


def test_an_agent_that_read_the_merged_file_may_remove_from_it(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- from a\n- more from a\n")
    sync(a)
    sync(b)
    write(b, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- more from a\n")
    settle(a, b)
    assert (a / "memory" / "MEMORY.md").read_text() == "# Memory\n\n- one\n- two\n- more from a\n"


def test_a_session_in_use_waits_and_is_installed_when_it_is_at_rest(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "sessions/cli_x.jsonl", session_bytes("cli:x", [*talk(2), said(30)]))
    sync(a)
    path = b / "sessions" / "cli_x.jsonl"
    path.write_bytes(session_bytes("cli:x", [*talk(2), said(50)]))
    sync(b)
    assert "m30" not in path.read_text()
    os.utime(path, (LONG_AGO, LONG_AGO))
    done = on(b, install.install)
    assert isinstance(done, install.Installed)
    assert done.done == ("sessions/cli_x.jsonl",)
    assert "m30" in path.read_text()
    assert "m50" in path.read_text()


def test_run_state_stays_with_its_machine(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "sessions/cli_x.jsonl", session_bytes("cli:x", talk(2), pending_user_turn=True))
    settle(a, b)
    assert "pending_user_turn" not in (b / "sessions" / "cli_x.jsonl").read_text()
    assert "pending_user_turn" in (a / "sessions" / "cli_x.jsonl").read_text()


def test_memories_with_nothing_in_common_are_joined_only_when_a_person_says_so(machine: Machine) -> None:
    a, b = machine("a"), machine("b")
    write(a, "USER.md", "- tea\n")
    write(b, "USER.md", "- coffee\n")
    sync(a)
    with pytest.raises(NeedsDecision, match="nothing in common"):
        sync(b)
    sync(b, join=True)
    settle(a, b)
    assert files(a) == files(b)
    assert set((a / "USER.md").read_text().split("\n")) >= {"- tea", "- coffee"}
    kept = on(b, lambda opened: opened.repo.refs.below("refs/gitmem/pre-join/"))
    assert isinstance(kept, dict)
    assert len(kept) == 1


def test_b75_a_rewritten_remote_stops_the_sync_until_a_person_decides(
    pair: tuple[Path, Path], remote: Path
) -> None:
    a, b = pair
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- secret\n")
    settle(a, b)

    def rewrite(opened: Opened) -> None:
        head = opened.repo.head()
        assert head is not None
        parent = opened.repo.info(head).parents[0]
        branch = opened.repo.branch()
        assert branch is not None
        (remote / branch).write_text(parent + "\n")

    on(a, rewrite)
    write(b, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- secret\n- from b\n")
    with pytest.raises(RemoteError, match="rewrote") as caught:
        sync(b)
    assert caught.value.state == "rewritten"

    def take(opened: Opened) -> str:
        hub = remotes.get(b / ".git", "hub")
        return accept(opened, hub, syncing.Way(opened, hub), syncing.committer(opened))

    on(b, take)
    sync(b)
    text = (b / "memory" / "MEMORY.md").read_text()
    assert "secret" not in text
    assert "from b" in text


def test_conflicting_texts_are_both_kept_without_markers_and_named(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "memory/MEMORY.md", "# Memory\n\n- one of a\n- two\n")
    write(b, "memory/MEMORY.md", "# Memory\n\n- one of b\n- two\n")
    sync(a)
    done = sync(b)
    assert done.conflicts == ("memory/MEMORY.md",)
    settle(a, b)
    text = (a / "memory" / "MEMORY.md").read_text()
    assert "- one of a" in text
    assert "- one of b" in text
    assert "<<<<" not in text
    kinds = on(a, lambda opened: [c.kind for c in opened.repo.history(opened.repo.head())])
    assert isinstance(kinds, list)
    assert kinds[0] is Kind.MERGE


def test_losing_a_race_costs_a_try_and_nothing_else(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    write(a, "a.md", "- a\n")
    write(b, "b.md", "- b\n")
    sync(a)
    push = syncing.Way.push
    lost: list[str] = []

    def late(self: syncing.Way, branch: str, sha: str, theirs: str | None) -> bool:
        if not lost:
            lost.append(sha)
            write(a, "a.md", "- a\n- faster\n")
            sync(a)
        return push(self, branch, sha, theirs)

    with monkeypatch.context() as patched:
        patched.setattr(syncing.Way, "push", late)
        assert sync(b).races == 1
    settle(a, b)
    assert files(a) == files(b)
    assert (b / "a.md").read_text() == "- a\n- faster\n"
    commits = on(b, lambda opened: [c.sha for c in opened.repo.history(opened.repo.head())])
    assert isinstance(commits, list)
    assert lost[0] not in commits


def test_a_merge_that_a_person_amended_is_not_dropped(pair: tuple[Path, Path]) -> None:
    a, b = pair
    write(a, "a.md", "- a\n")
    write(b, "b.md", "- b\n")
    settle(a, b)
    write(b, "b.md", "- b\n- more\n")
    sync(b)
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- precious\n")
    who = ["-c", "user.name=p", "-c", "user.email=p@x"]
    subprocess.run(["git", "-C", a, *who, "commit", "-qa", "--amend", "--no-edit"], check=True)
    settle(a, b)
    assert "- precious" in (a / "memory" / "MEMORY.md").read_text()
    assert files(a) == files(b)


def test_a_file_that_cannot_be_installed_is_in_nobodys_way(pair: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = pair
    (tmp_path / "elsewhere").mkdir()
    (b / "docs").symlink_to(tmp_path / "elsewhere")
    write(a, "docs/x.md", "- x\n")
    write(a, "memory/MEMORY.md", "# Memory\n\n- one\n- two\n- three\n")
    sync(a)
    sync(b)
    assert (b / "memory" / "MEMORY.md").read_text().endswith("- three\n")
    assert not list((tmp_path / "elsewhere").iterdir())
