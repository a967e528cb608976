import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from dulwich.objects import Commit, ObjectID, Tag

from gitmem.actions import inspect
from gitmem.actions.inspect import Filter
from gitmem.core.model import Change, File, Kind
from gitmem.edges.repo import Repository
from gitmem.errors import NotFound, UsageError
from tests.histories import NOW, History, new_workspace

KEY = (("Gitmem-Session", "telegram:42"),)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with Repository(new_workspace(tmp_path / "ws").git) as opened:
        yield opened


@pytest.fixture
def history(repo: Repository) -> History:
    return History(repo)


@dataclasses.dataclass
class Told:
    """A history of five commits over three days."""

    repo: Repository
    init: str
    session: str
    dream: str
    foreign: str
    edit: str

    def name(self, sha: str) -> str:
        return next(field for field, value in dataclasses.asdict(self).items() if value == sha)

    def names(self, **wanted: object) -> list[str]:
        chosen = dataclasses.replace(Filter(), **wanted)  # type: ignore[arg-type]  # any mix of fields
        return [self.name(commit.sha) for commit in inspect.log(self.repo, chosen)]

    def at(self, words: str) -> str:
        return self.name(inspect.resolve(self.repo, words, NOW).sha)


@pytest.fixture
def told(history: History) -> Told:
    return Told(
        history.repo,
        history.add(Kind.INIT, {"SOUL.md": b"kind\n", "memory/MEMORY.md": b"- tea\n"}, at="2026-03-01T09:00"),
        history.add(
            Kind.SESSION, {"sessions/telegram_42.jsonl": b"{}\n"}, at="2026-03-02T10:00", trailers=KEY
        ),
        history.add(Kind.DREAM, {"memory/MEMORY.md": b"- coffee\n"}, at="2026-03-03T11:00"),
        history.add("fix a typo\n", {"sessions/telegram_42.jsonl": b"[]\n"}, at="2026-03-03T23:30"),
        history.add(Kind.EDIT, {"SOUL.md": None, "memory/x/a.md": b"a"}, at="2026-03-04T13:00"),
    )


@pytest.mark.parametrize(
    ("words", "commit"),
    [
        ("HEAD", "edit"),
        ("HEAD~3", "session"),
        ("HEAD^", "foreign"),
        ("main", "edit"),
        ("refs/heads/main", "edit"),
        ("last dream", "dream"),
        ("before last dream", "session"),
        ("last session", "session"),
        ("last session of telegram:42", "session"),
        ("last commit", "edit"),
        ("yesterday", "foreign"),
        ("noon yesterday", "dream"),
        ("before yesterday", "session"),
        ("2026-03-01", "init"),
        ("2h ago", "edit"),
        ("3h ago", "foreign"),
        ("monday~1", "init"),
        ("now", "edit"),
    ],
)
def test_words_lead_to_a_commit(told: Told, words: str, commit: str) -> None:
    assert told.at(words) == commit


def test_full_and_short_ids_lead_to_their_commit(told: Told) -> None:
    assert told.at(told.dream) == "dream"
    assert told.at(told.dream[:8]) == "dream"
    assert told.at(told.dream[:8].upper() + "~") == "session"


@pytest.mark.parametrize(
    "words",
    [
        "nowhere",
        "refs/heads",
        "heads",
        "deadbeef",
        "f" * 40,
        "2020-01-01",
        "last merge",
        "HEAD~5",
        "HEAD^2",
        "last session of x:1",
    ],
)
def test_what_is_not_there_is_said_to_be_missing(told: Told, words: str) -> None:
    with pytest.raises(NotFound):
        told.at(words)


def test_the_hint_for_a_time_before_all_history_names_its_beginning(told: Told) -> None:
    with pytest.raises(NotFound) as caught:
        told.at("2020-01-01")
    assert told.init[:8] in (caught.value.hint or "")


def test_words_without_meaning_are_a_usage_error(told: Told) -> None:
    with pytest.raises(UsageError):
        told.at("the day before the day")


def test_an_id_that_fits_several_commits_lists_them(told: Told) -> None:
    seen: dict[bytes, Commit] = {}
    while True:
        twin = Commit()
        twin.tree, twin.parents = told.repo.root(told.init), []
        twin.author = twin.committer = b"a <a@b>"
        twin.author_time = twin.commit_time = 1_760_000_000
        twin.author_timezone = twin.commit_timezone = 0
        twin.message = b"twin %d\n" % len(seen)
        other = seen.setdefault(twin.id[:4], twin)
        if other is not twin:
            break
    told.repo.store.add_object(twin)
    told.repo.store.add_object(other)
    with pytest.raises(UsageError) as caught:
        told.at(twin.id[:4].decode())
    for commit in (twin, other):
        assert f"{commit.id[:12].decode()} {commit.message.decode().strip()}" in (caught.value.hint or "")


def test_ids_of_other_objects_are_not_commits(told: Told) -> None:
    entry = told.repo.entry(told.dream, "memory/MEMORY.md")
    assert entry is not None
    with pytest.raises(NotFound):
        told.at(entry.sha[:10])


def test_tags_are_followed_to_their_commit_and_go_before_short_ids(told: Told) -> None:
    tag = Tag()
    tag.tagger, tag.tag_time, tag.tag_timezone = b"a <a@b>", 1, 0
    tag.name, tag.message, tag.object = b"good", b"x", (Commit, ObjectID(told.dream.encode()))
    told.repo.store.add_object(tag)
    for name in ("good", "cafe"):
        (told.repo.git.common / "refs/tags" / name).write_bytes(tag.id + b"\n")
    assert told.at("good") == "dream"
    assert told.at("cafe^") == "session"


def test_before_the_first_commit_everything_is_missing(repo: Repository) -> None:
    assert inspect.newest(repo) is None
    assert list(inspect.log(repo, Filter())) == []
    with pytest.raises(NotFound, match="no history"):
        inspect.resolve(repo, "HEAD")


def test_log_tells_the_newest_first_and_filters(told: Told) -> None:
    assert told.names() == ["edit", "foreign", "dream", "session", "init"]
    assert told.names(limit=2) == ["edit", "foreign"]
    assert told.names(limit=0) == []
    assert told.names(kinds=frozenset({Kind.DREAM, Kind.INIT})) == ["dream", "init"]
    assert told.names(paths=("memory",)) == ["edit", "dream", "init"]
    assert told.names(paths=("memory/MEMORY.md",)) == ["dream", "init"]
    assert told.names(paths=("mem",)) == []
    assert told.names(paths=("",)) == told.names()


def test_log_of_a_session_has_foreign_commits_that_touch_its_file(told: Told) -> None:
    assert told.names(session="telegram:42") == ["foreign", "session"]
    assert told.names(session="telegram:4") == []


def test_log_between_two_moments_includes_both(told: Told) -> None:
    since = inspect.moment(told.repo, "2026-03-03", end=False, now=NOW)
    until = inspect.moment(told.repo, "2026-03-03", end=True, now=NOW)
    assert told.names(since=since, until=until) == ["foreign", "dream"]
    dream = inspect.moment(told.repo, "last dream", end=False, now=NOW)
    assert told.names(since=dream) == ["edit", "foreign", "dream"]


def test_commits_of_a_machine_whose_clock_was_wrong_do_not_hide_those_behind_them(history: History) -> None:
    first = history.add("good\n", {"a": b"1"}, at="2026-03-03T10:00")
    late = history.foreign("late\n", at="2020-01-01T00:00", parents=(first,))
    newest = history.foreign("newest\n", at="2026-03-03T12:00", parents=(late,))
    since = inspect.moment(history.repo, "2026-03-03", end=False, now=NOW)
    assert [commit.sha for commit in inspect.log(history.repo, Filter(since=since))] == [newest, first]


def test_a_merge_is_told_once_and_only_for_what_it_changed_itself(history: History) -> None:
    base = history.add(Kind.INIT, {"a": b"1\n", "b": b"1\n"}, at="2026-03-01T10:00")
    ours = history.add(Kind.EDIT, {"a": b"2\n"}, at="2026-03-01T11:00")
    theirs = history.add(
        Kind.EDIT, {"b": b"2\n"}, at="2026-03-01T12:00", parents=(base,), ref="refs/heads/other"
    )
    merge = history.add(Kind.MERGE, {"b": b"2\n"}, at="2026-03-01T13:00", parents=(ours, theirs))
    repo = history.repo
    assert [commit.sha for commit in inspect.log(repo, Filter())] == [merge, theirs, ours, base]
    assert [commit.sha for commit in inspect.log(repo, Filter(paths=("b",)))] == [theirs, base]
    assert [change.path for change in inspect.changes(repo, repo.info(merge))] == ["b"]
    assert inspect.resolve(repo, "HEAD^2").sha == theirs


def test_a_commit_made_beside_a_persons_merge_is_the_newest(told: Told, history: History) -> None:
    pending = "refs/gitmem/pending/host"
    sha = history.add(Kind.EDIT, {"USER.md": b"x"}, parents=(told.edit,), ref=pending, at="2026-03-04T13:30")
    assert inspect.resolve(told.repo, "now", NOW).sha == told.edit
    (told.repo.git.control / "MERGE_HEAD").write_text(told.dream + "\n")
    assert inspect.resolve(told.repo, "now", NOW).sha == sha
    assert inspect.resolve(told.repo, "HEAD", NOW).sha == told.edit


def test_a_detached_head_still_has_its_history(told: Told) -> None:
    (told.repo.git.control / "HEAD").write_text(told.dream + "\n")
    assert told.names() == ["dream", "session", "init"]
    assert told.at("HEAD~1") == "session"


def test_changes_of_a_commit_carry_both_versions(told: Told) -> None:
    assert list(inspect.changes(told.repo, told.repo.info(told.edit))) == [
        Change("SOUL.md", File(b"kind\n"), None),
        Change("memory/x/a.md", None, File(b"a")),
    ]
    assert [c.path for c in inspect.changes(told.repo, told.repo.info(told.edit), ("memory",))] == [
        "memory/x/a.md"
    ]


def test_between_two_commits_only_what_differs_is_read(told: Told) -> None:
    init, edit = told.repo.info(told.init), told.repo.info(told.edit)
    assert [change.path for change in inspect.between(told.repo, init, edit)] == [
        "SOUL.md",
        "memory/MEMORY.md",
        "memory/x/a.md",
        "sessions/telegram_42.jsonl",
    ]
    assert list(inspect.between(told.repo, edit, edit)) == []


def test_a_file_is_read_as_it_was(told: Told) -> None:
    assert inspect.file_at(told.repo, "memory/MEMORY.md", told.repo.info(told.session)) == File(b"- tea\n")


def test_a_folder_is_listed_and_an_absent_file_named(told: Told) -> None:
    with pytest.raises(NotFound, match="is a folder") as caught:
        inspect.file_at(told.repo, "memory", told.repo.info(told.edit))
    assert "memory/x/a.md" in (caught.value.hint or "")
    with pytest.raises(NotFound, match=r"no SOUL\.md"):
        inspect.file_at(told.repo, "SOUL.md", told.repo.info(told.edit))
