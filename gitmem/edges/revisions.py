"""Which commit a name stands for, as git looks it up: HEAD, refs, tags, the beginning of a commit's name."""

from collections.abc import Iterator

from dulwich.objects import Commit, ObjectID, Tag

from gitmem.core.model import CommitInfo
from gitmem.edges import gitdir
from gitmem.edges.repo import Repository

_PENDING = "refs/gitmem/pending/"
_PLACES = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}")
"""Where git looks for a ref, in its order (gitrevisions)."""
_TAGS_DEEP = 10


def head(repo: Repository) -> str | None:
    """The commit HEAD stands for, detached or not; None before the first commit."""
    if repo.branch() is not None:
        return repo.head()
    return (repo.git.control / "HEAD").read_text("ascii").strip()


def newest(repo: Repository) -> str | None:
    """Where history begins: at HEAD, or with what was committed during a person's merge or rebase."""
    pending = repo.refs.below(_PENDING)
    here = head(repo)
    if not pending or (gitdir.operation_in_progress(repo.git) is None and repo.branch() is not None):
        return here
    commits = [repo.info(sha) for sha in (here, *pending.values()) if sha is not None]
    return max(enumerate(commits), key=lambda item: (item[1].time, item[0]))[1].sha


def named(repo: Repository, name: str) -> str | None:
    """The commit a ref stands for; None where there is none. Tags are followed to what they tag.

    Raises:
        RepositoryRefused: The ref is damaged.
    """
    if name == "HEAD":
        return head(repo)
    for place in _PLACES:
        ref = place.format(name)
        if not ref.startswith("refs/"):
            continue
        sha = repo.refs.read(ref)
        if sha is not None:
            return _peeled(repo, sha)
    return None


def _peeled(repo: Repository, sha: str) -> str | None:
    name = ObjectID(sha.encode("ascii"))
    for _ in range(_TAGS_DEEP):
        if name not in repo.store:
            return None
        found = repo.store[name]
        if not isinstance(found, Tag):
            return name.decode("ascii") if isinstance(found, Commit) else None
        name = found.object[1]
    return None


def beginning_with(repo: Repository, prefix: str) -> Iterator[CommitInfo]:
    """Every commit whose name begins so.

    Args:
        repo: The repository.
        prefix: At least 4 lower-case hex digits.
    """
    for sha in sorted(set(repo.store.iter_prefix(prefix.encode("ascii")))):
        if isinstance(repo.store[sha], Commit):
            yield repo.info(sha.decode("ascii"))
