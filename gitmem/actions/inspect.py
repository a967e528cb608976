"""Looking back: the commit that is meant, what happened, what changed, files as they were (gitstore, 5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitmem.core import session_names, when
from gitmem.core.model import Change, CommitInfo, File, Kind, TreePath
from gitmem.core.pathspec import is_below
from gitmem.core.when import ById, ByKind, ByName, ByTime, When
from gitmem.edges import localtime, revisions, trees
from gitmem.edges.repo import Repository
from gitmem.edges.trees import EntryChange
from gitmem.errors import NotFound, UsageError

_SLOP = 16
"""How many commits in a row older than `since` end a walk: clocks of several machines disagree a little."""
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Filter:
    """Which commits to tell of; what is not set does not matter.

    Attributes:
        kinds: Only commits of these kinds.
        session: Only commits about the session with this key.
        paths: Only commits that touch one of these files or something below these folders.
        since: Unix seconds, included.
        until: Unix seconds, included.
        limit: At most so many.
    """

    kinds: frozenset[Kind] = frozenset()
    session: str | None = None
    paths: tuple[TreePath, ...] = ()
    since: int | None = None
    until: int | None = None
    limit: int | None = None


def newest(repo: Repository) -> CommitInfo | None:
    """The commit that history begins with; None before the first one."""
    sha = revisions.newest(repo)
    return None if sha is None else repo.info(sha)


def resolve(repo: Repository, words: str, now: datetime | None = None) -> CommitInfo:
    """The commit that words mean (the grammar is `core/when`'s).

    Args:
        repo: The repository.
        words: As typed.
        now: The present, aware of its zone; this machine's clock when not given.

    Raises:
        UsageError: The words mean nothing, or more than one commit.
        NotFound: There is no such commit.
    """
    if revisions.newest(repo) is None:
        raise NotFound("there is no history yet", "The first commit is made by: gitmem start")
    return _look_up(repo, when.parse(words, now or localtime.now()), words)


def _look_up(repo: Repository, point: When, words: str) -> CommitInfo:
    steps: list[int] = []
    while isinstance(point, when.Parent):
        steps.append(point.number)
        point = point.of
    commit = _start(repo, point, words)
    for number in reversed(steps):
        commit = _parent(repo, commit, number)
    return commit


def _start(repo: Repository, point: When, words: str) -> CommitInfo:
    match point:
        case ById(prefix):
            return _by_id(repo, prefix)
        case ByName(name):
            sha = revisions.named(repo, name)
            if sha is None:
                raise NotFound(f"there is no branch, tag or ref {name!r}", when.UNDERSTOOD)
            return repo.info(sha)
        case ByTime(_, last):
            found = next(log(repo, Filter(until=last, limit=1)), None)
            if found is None:
                *_, first = repo.history(revisions.newest(repo))
                raise NotFound(
                    f"history does not go back to {words!r}",
                    f"The first commit is {first.sha[:8]} of {localtime.at(first.time):%Y-%m-%d %H:%M}.",
                )
            return found
        case ByKind(kinds, session):
            found = next(log(repo, Filter(kinds=kinds, session=session, limit=1)), None)
            if found is None:
                raise NotFound(f"no commit matches {words!r}", "See what there is: gitmem log --oneline")
            return found
    raise UsageError(f"{words!r} does not name a commit", when.UNDERSTOOD)


def _by_id(repo: Repository, prefix: str) -> CommitInfo:
    sha = revisions.named(repo, prefix) if len(prefix) < 40 else None
    if sha is not None:
        return repo.info(sha)
    found = list(revisions.beginning_with(repo, prefix))
    if not found:
        raise NotFound(f"there is no commit {prefix}", "See what there is: gitmem log --oneline")
    if len(found) > 1:
        shown = [f"{commit.sha[:12]} {commit.subject}" for commit in found[:_CANDIDATES]]
        more = [f"and {len(found) - _CANDIDATES} more"] if len(found) > _CANDIDATES else []
        raise UsageError(
            f"{prefix} begins the names of {len(found)} commits", "\n  ".join(["One of:", *shown, *more])
        )
    return found[0]


def _parent(repo: Repository, commit: CommitInfo, number: int) -> CommitInfo:
    if number == 0:
        return commit
    if not commit.parents:
        raise NotFound(f"{commit.sha[:8]} ({commit.subject}) is the first commit: there is nothing before it")
    if number > len(commit.parents):
        raise NotFound(f"{commit.sha[:8]} ({commit.subject}) has no parent {number}")
    return repo.info(commit.parents[number - 1])


def moment(repo: Repository, words: str, *, end: bool, now: datetime | None = None) -> int:
    """The second that words mean as a limit of time; a commit stands for its own time.

    Args:
        repo: The repository.
        words: As typed.
        end: Whether a day means its last second (`--until`) or its first (`--since`).
        now: As in `resolve`.

    Raises:
        UsageError: The words mean nothing.
        NotFound: They mean a commit that is not there.
    """
    point = when.parse(words, now or localtime.now())
    if isinstance(point, ByTime):
        return point.last if end else point.first
    return _look_up(repo, point, words).time


def log(repo: Repository, wanted: Filter) -> Iterator[CommitInfo]:
    """Commits from the newest back, those that match, each once."""
    told, old_in_a_row = 0, 0
    for commit in repo.history(revisions.newest(repo)):
        if wanted.limit is not None and told >= wanted.limit:
            return
        if wanted.since is not None and commit.time < wanted.since:
            old_in_a_row += 1
            if old_in_a_row > _SLOP:
                return
            continue
        old_in_a_row = 0
        if _matches(repo, commit, wanted):
            told += 1
            yield commit


def _matches(repo: Repository, commit: CommitInfo, wanted: Filter) -> bool:
    if wanted.until is not None and commit.time > wanted.until:
        return False
    if wanted.kinds and commit.kind not in wanted.kinds:
        return False
    if wanted.session is not None and not _is_about(repo, commit, wanted.session):
        return False
    return not wanted.paths or _touches(repo, commit, wanted.paths)


def _is_about(repo: Repository, commit: CommitInfo, key: str) -> bool:
    """By its trailer; where it has none (a merge, a revert, a foreign commit), by the session's file."""
    named = commit.trailers.get("Gitmem-Session")
    if named is not None:
        return key in named
    stems = (session_names.file_stem(key), session_names.legacy_stem(key), session_names.nanobot_stem(key))
    return _touches(repo, commit, tuple(f"sessions/{stem}.jsonl" for stem in stems))


def _touches(repo: Repository, commit: CommitInfo, paths: Sequence[TreePath]) -> bool:
    """Whether it differs there from every parent: a merge that took one side's files touched nothing."""
    root = repo.root(commit.sha)
    sides = [repo.root(parent) for parent in commit.parents] or [None]
    return all(
        any(is_below(change.path, paths) for change in trees.diff(repo.store, side, root)) for side in sides
    )


def changes(repo: Repository, commit: CommitInfo, paths: Sequence[TreePath] = ()) -> Iterator[Change]:
    """What a commit changed against its first parent, files read one at a time, in path order."""
    return _read(repo, repo.changes(commit.sha), paths)


def between(
    repo: Repository, old: CommitInfo, new: CommitInfo, paths: Sequence[TreePath] = ()
) -> Iterator[Change]:
    """What differs between two commits."""
    return _read(repo, trees.diff(repo.store, repo.root(old.sha), repo.root(new.sha)), paths)


def _read(
    repo: Repository, found: Iterator[EntryChange] | list[EntryChange], paths: Sequence[TreePath]
) -> Iterator[Change]:
    for change in found:
        if is_below(change.path, paths):
            old = None if change.old is None else repo.read(change.old)
            yield Change(change.path, old, None if change.new is None else repo.read(change.new))


def file_at(repo: Repository, path: TreePath, commit: CommitInfo) -> File:
    """A file as it was at a commit.

    Raises:
        NotFound: There was none; the hint lists what is there when the path is a folder.
    """
    found = repo.file(commit.sha, path)
    if found is not None:
        return found
    below = sorted(name for name in repo.files(commit.sha) if is_below(name, (path,)))
    if below:
        raise NotFound(f"{path or '.'} is a folder", "\n  ".join(["In it:", *below[: _CANDIDATES * 3]]))
    raise NotFound(f"there was no {path} at {commit.sha[:8]}", f"See when there was: gitmem log -- {path}")
