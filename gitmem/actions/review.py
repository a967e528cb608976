"""A Dream's proposal that waits for a person, on a ref of its own, to be accepted or rejected (memory-engine, section 3)."""

from collections.abc import Callable, Sequence

from gitmem.core import history
from gitmem.core.dreaming.batch import unchanged
from gitmem.core.dreaming.rebase import rebased
from gitmem.core.history import History
from gitmem.core.message import reread
from gitmem.core.model import Change, CommitInfo, File, Message, Snapshot, TreePath
from gitmem.edges import tip, transaction
from gitmem.edges.opened import Opened
from gitmem.errors import DreamFailed, NeedsDecision, NotFound

DREAM_CURSOR = "memory/.dream_cursor"
HISTORY = "memory/history.jsonl"


def _ref(opened: Opened) -> str:
    return f"refs/gitmem/review/{opened.host}"


def waiting(opened: Opened) -> CommitInfo | None:
    """The proposal that waits; None when there is none, or when its entries have been dreamed otherwise."""
    sha = opened.repo.refs.read(_ref(opened))
    if sha is None:
        return None
    commit = opened.repo.info(sha)
    parent = commit.parents[0] if commit.parents else None
    head = tip.current(opened).base
    before, after = (_cursor(opened, sha) for sha in (parent, commit.sha))
    same = unchanged(_queue(opened, parent), _queue(opened, head), before, after)
    return commit if same and before == _cursor(opened, head) else None


def check_none_waits(opened: Opened) -> None:
    """Refuse to dream while a proposal waits: the next one would be about the same entries.

    Raises:
        NeedsDecision: One waits.
    """
    if (commit := waiting(opened)) is not None:
        raise NeedsDecision(
            f"a proposal waits for you: {commit.subject}",
            f"See it: gitmem show {commit.sha[:8]}    Then: gitmem dream accept, or: gitmem dream reject",
        )


def keep(opened: Opened, snapshot: Snapshot) -> CommitInfo:
    """Commit a proposal on the review ref; files and branch stay as they are.

    Raises:
        NeedsDecision: Another one waits already.
    """
    check_none_waits(opened)
    stamp = opened.stamp()
    with opened.writing():
        sha = tip.write(opened, snapshot.files, opened.render(snapshot.message), tip.current(opened), stamp)
        opened.repo.move(_ref(opened), opened.repo.refs.read(_ref(opened)), sha, stamp)
    return opened.repo.info(sha)


def accept(opened: Opened, commit_all: Callable[[], None]) -> CommitInfo:
    """Make the proposal true, merged into what the files are now.

    Raises:
        NotFound: None waits.
        DreamFailed: It cannot be merged with what was edited since.
    """
    commit = _the_one(opened)
    return _decide(opened, commit, _edits(opened, commit), reread(commit), commit_all)


def reject(opened: Opened, commit_all: Callable[[], None]) -> CommitInfo:
    """Let the proposal go: its entries count as dreamed, memory stays as it is.

    Raises:
        NotFound: None waits.
    """
    commit = _the_one(opened)
    text = reread(commit)
    trailers = tuple(item for item in text.trailers if item[0] == "Gitmem-Dream")
    entries = next((value for _, value in trailers), "?")
    message = Message(
        text.kind,
        f"dream: history {entries} -> nothing new (proposal rejected)",
        (f"Rejected: {commit.subject}",),
        (*trailers, ("Gitmem-Outcome", "completed rejected")),
    )
    return _decide(opened, commit, (), message, commit_all)


def _edits(opened: Opened, commit: CommitInfo) -> list[Change]:
    read = opened.repo.read
    return [
        Change(change.path, None if change.old is None else read(change.old), read(change.new))
        for change in opened.repo.changes(commit.sha)
        if change.new is not None and change.path != DREAM_CURSOR
    ]


def _the_one(opened: Opened) -> CommitInfo:
    commit = waiting(opened)
    if commit is None:
        raise NotFound("no proposal waits", "Make one with: gitmem dream --review")
    return commit


def _decide(
    opened: Opened,
    commit: CommitInfo,
    changes: Sequence[Change],
    message: Message,
    commit_all: Callable[[], None],
) -> CommitInfo:
    parent = commit.parents[0] if commit.parents else None
    before, after = (_cursor(opened, sha) for sha in (parent, commit.sha))

    def plan() -> Snapshot:
        head = tip.current(opened).base
        if _cursor(opened, head) != before:
            raise DreamFailed("overtaken", "another Dream has taken these entries meanwhile")
        if not unchanged(_queue(opened, parent), _queue(opened, head), before, after):
            raise DreamFailed(
                "overtaken", "its entries were changed meanwhile", "Make a new one: gitmem dream --review"
            )
        files: dict[TreePath, File | None] = {}
        for change in changes:
            if change.new is not None:
                now = opened.repo.file(head, change.path)
                kind = opened.classify(change.path)
                files[change.path] = rebased(kind, change.path, (change.old, now, change.new)).new
        return Snapshot(message, {**files, DREAM_CURSOR: File(str(after).encode())})

    made = transaction.carry_out(opened, commit_all, plan, action="dream")
    opened.repo.refs.delete(_ref(opened), commit.sha)
    return made or commit


def _queue(opened: Opened, sha: str | None) -> History:
    file = opened.repo.file(sha, HISTORY)
    return history.parse(b"" if file is None else file.data)


def _cursor(opened: Opened, sha: str | None) -> int:
    file = opened.repo.file(sha, DREAM_CURSOR)
    return history.parse_cursor(None if file is None else file.data) or 0
