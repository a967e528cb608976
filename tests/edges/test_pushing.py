"""What is believed of a server's answer: a push counts only when the server said so, or holds the commit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dulwich.client import GitClient, LsRemoteResult, SendPackResult
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID
from dulwich.refs import Ref
from hypothesis import given
from hypothesis import strategies as st

from gitmem.edges.outgoing import Outgoing
from gitmem.edges.pushing import Push
from gitmem.edges.wire import Offer, Outcome, RefResult
from tests.edges.repos import MAIN, commit, new_repo


class Scripted(GitClient):
    """A server of our making.

    Attributes:
        refs: What it advertises.
        says: What it answers to each ref; None for no report at all.
        obeys: Whether it does what it is asked.
    """

    def __init__(self, refs: dict[str, str], says: Mapping[str, str | None] | None, *, obeys: bool) -> None:
        super().__init__()
        self.refs, self.says, self.obeys = refs, says, obeys
        self.packs: list[list[str]] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def send_pack(
        self,
        path: bytes,
        update_refs: Callable[[dict[Ref, ObjectID]], dict[Ref, ObjectID]],
        generate_pack_data: Callable[..., Any],
        *_: Any,
        **__: Any,
    ) -> SendPackResult:
        assert path
        new = update_refs({Ref(ref.encode()): ObjectID(sha.encode()) for ref, sha in self.refs.items()})
        if not new:
            return SendPackResult({}, ref_status={})
        _, records = generate_pack_data(set(), set(), ofs_delta=True, progress=None)
        self.packs.append([record.sha().hex() for record in records])
        self.meanwhile()
        if self.obeys:
            self.refs |= {ref.decode(): sha.decode() for ref, sha in new.items()}
        says = None if self.says is None else {ref.encode(): text for ref, text in self.says.items()}
        return SendPackResult({**new}, ref_status=says)

    def get_refs(self, path: bytes, *_: Any, **__: Any) -> LsRemoteResult:
        assert path
        return LsRemoteResult(
            {Ref(ref.encode()): ObjectID(sha.encode()) for ref, sha in self.refs.items()}, {}
        )


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return new_repo(tmp_path / "ws.git")


@pytest.fixture
def outgoing(git_dir: Path) -> Iterator[Outgoing]:
    with closing(DiskObjectStore(str(git_dir / "objects"))) as store:
        yield Outgoing(store)


def run(outgoing: Outgoing, client: Scripted, offer: Offer, step: int = 10**9) -> RefResult:
    work = Push(outgoing, (offer,), step)
    work.run(lambda: (client, "x"))
    return work.results[offer.ref]


@pytest.mark.parametrize("says", [None, {}, {MAIN: None}, {MAIN: "failed to update ref"}])
def test_a_commit_that_is_there_has_arrived_whatever_was_said(
    git_dir: Path, outgoing: Outgoing, says: Mapping[str, str | None] | None
) -> None:
    offer = Offer(MAIN, commit(git_dir, {"a": b"1"}))
    assert run(outgoing, Scripted({}, says, obeys=True), offer).outcome is Outcome.PUSHED


@pytest.mark.parametrize(
    "says", [None, {}, {MAIN: "failed to update ref"}, {MAIN: "pre-receive hook declined"}]
)
def test_a_commit_that_is_not_there_has_not_arrived(
    git_dir: Path, outgoing: Outgoing, says: Mapping[str, str | None] | None
) -> None:
    offer = Offer(MAIN, commit(git_dir, {"a": b"1"}))
    result = run(outgoing, Scripted({}, says, obeys=False), offer)
    assert result.outcome is Outcome.REFUSED
    assert result.text


def test_a_lost_race_is_divergence(git_dir: Path, outgoing: Outgoing) -> None:
    offer = Offer(MAIN, commit(git_dir, {"a": b"1"}))
    client = Scripted({}, {MAIN: "failed to update ref"}, obeys=False)
    client.meanwhile = lambda: client.refs.update({MAIN: "1" * 40})
    result = run(outgoing, client, offer)
    assert result.outcome is Outcome.DIVERGED
    assert "same moment" in result.text


def test_a_server_that_only_says_yes_does_not_hold_us_for_ever(git_dir: Path, outgoing: Outgoing) -> None:
    for number in range(5):
        tip = commit(git_dir, {"a": b"%d" % number * 1000})
    client = Scripted({}, {MAIN: None}, obeys=False)
    assert run(outgoing, client, Offer(MAIN, tip), step=1500).outcome is Outcome.REFUSED
    assert len(client.packs) == 2


def test_steps_never_send_an_object_twice(git_dir: Path, outgoing: Outgoing) -> None:
    base = commit(git_dir, {"a": b"start", "s": b"start"})
    left = b"start"
    for number in range(8):
        right = b"s%d" % number * 900
        side = commit(git_dir, {"a": b"start", "s": right}, parents=(base,), ref=None)
        tip = commit(git_dir, {"a": b"%d" % number * 900, "s": left})
        tip = commit(git_dir, {"a": b"%d" % number * 900, "s": right}, parents=(tip, side))
        left = right
    client = Scripted({}, {MAIN: None}, obeys=True)
    assert run(outgoing, client, Offer(MAIN, tip), step=2000).outcome is Outcome.PUSHED
    sent = [sha for pack in client.packs for sha in pack]
    assert len(client.packs) > 2
    assert len(sent) == len(set(sent))


def test_many_unknown_refs_of_a_server_do_no_harm(git_dir: Path, outgoing: Outgoing) -> None:
    first = commit(git_dir, {"a": b"1"})
    tip = commit(git_dir, {"a": b"2"})
    refs = {f"refs/heads/b{number}": f"{number:040x}" for number in range(300)} | {MAIN: first}
    client = Scripted(refs, {MAIN: None}, obeys=True)
    assert run(outgoing, client, Offer(MAIN, tip)).outcome is Outcome.PUSHED
    assert len(client.packs[0]) == 3


_FILES = st.dictionaries(st.sampled_from(["a", "d/b", "d/c"]), st.binary(max_size=3), min_size=1)


@given(st.lists(_FILES, min_size=1, max_size=6), st.integers(0, 6), st.integers(1, 400))
def test_whatever_the_history_the_server_ends_up_with_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, edits: list[dict[str, bytes]], cut: int, step: int
) -> None:
    git_dir = new_repo(tmp_path_factory.mktemp("any") / "ws.git")
    tips = [commit(git_dir, files, when=1000 - 7 * number) for number, files in enumerate(edits)]
    seen = tips[cut] if cut < len(tips) else None
    with closing(DiskObjectStore(str(git_dir / "objects"))) as store:
        have = set() if seen is None else _closure(store, seen)
        client = Scripted({} if seen is None else {MAIN: seen}, {MAIN: None}, obeys=True)
        result = run(Outgoing(store), client, Offer(MAIN, tips[-1], seen), step)
        assert result.outcome.arrived
        got = {sha for pack in client.packs for sha in pack}
        assert have | got == _closure(store, tips[-1]) | have


def _closure(store: DiskObjectStore, tip: str) -> set[str]:
    """Every object reachable from a commit."""
    found: set[str] = set()
    pending = [tip]
    while pending:
        sha = pending.pop()
        if sha in found:
            continue
        found.add(sha)
        item: Any = store[ObjectID(sha.encode())]
        if item.type_name == b"commit":
            pending += [item.tree.decode(), *(parent.decode() for parent in item.parents)]
        elif item.type_name == b"tree":
            pending += [child.decode() for _, _, child in item.iteritems()]
    return found
