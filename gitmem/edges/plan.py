"""A change of the workspace that could be made: shown as a diff, or carried out as one transaction.

What going back, and deleting or forking a session have in common: they compute a snapshot from what is committed, and leave
sessions alone that an agent may hold in memory.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from gitmem.core.checkpoint import is_mid_turn
from gitmem.core.model import Change, CommitInfo, File, PathClass, Snapshot, TreePath
from gitmem.core.session_names import sidecar_of
from gitmem.edges import process, saves, transaction
from gitmem.edges.opened import Opened
from gitmem.errors import SessionInUse


@dataclass(frozen=True)
class Plan:
    """A change that could be made.

    Attributes:
        snapshot: What to commit and install; its files are only those that would change.
        changes: The same as before and after, for a diff.
        ended: Sessions whose run state ends with this.
        remove: Files outside the tree to remove from the disk, with the bytes they must still have.
    """

    snapshot: Snapshot
    changes: tuple[Change, ...]
    ended: tuple[TreePath, ...] = ()
    remove: Mapping[TreePath, File] = field(default_factory=dict)


def of(opened: Opened, head: str | None, snapshot: Snapshot) -> Plan:
    """The plan to make a snapshot true on top of a commit."""
    changes: list[Change] = []
    for path, file in sorted(snapshot.files.items()):
        old = opened.read(path).file if is_lost(opened, path, file) else opened.repo.file(head, path)
        changes.append(Change(path, old, file))
    return Plan(snapshot, tuple(changes))


def is_lost(opened: Opened, path: TreePath, wanted: File | None) -> bool:
    """Whether a file is gone or emptied on disk although the branch still has it: a deletion that is held back."""
    disk = opened.read(path).file
    return wanted is not None and bool(wanted.data) and (disk is None or not disk.data)


def check_in_use(opened: Opened, paths: Collection[TreePath]) -> None:
    """Refuse to change sessions that an agent probably holds in memory: it would write its own version over ours.

    Raises:
        SessionInUse: Names the session and why.
    """
    running = process.running((*opened.workspace.layout.processes, *opened.settings.agent_process))
    for path in sorted(paths):
        if opened.classify(path) is not PathClass.SESSION:
            continue
        reading = opened.read(path)
        if reading.file is None or reading.signature is None:
            continue
        age = opened.clock() - saves.saved_at(opened.repo.git, path, reading.signature)
        hint = "Stop the agent first, or say --force."
        if is_mid_turn(reading.file.data) or opened.read(sidecar_of(path)).file is not None:
            raise SessionInUse(f"{path} is in the middle of a turn", hint)
        if running or (running is None and age < opened.settings.session_hot):
            raise SessionInUse(
                f"{path} may be held in memory by the agent (last saved {age:.0f} s ago)", hint
            )


def apply(opened: Opened, plan: Plan, *, force: bool = False) -> CommitInfo | None:
    """Carry out a plan: one commit, on disk and in history together.

    Returns:
        The commit; None when only the disk was behind and history has it all already.

    Raises:
        SessionInUse: An agent probably holds one of the sessions, and `force` is not set.
        RepositoryBusy: Something changed since the plan was made.
    """
    files = plan.snapshot.files
    if not force:
        check_in_use(opened, files.keys())
    absent = [path for path in files if opened.read(path).file is None]
    commit = transaction.apply(
        opened, plan.snapshot, action=plan.snapshot.message.kind, ended=plan.ended, remove=plan.remove
    )
    _remember_new(opened, absent)
    return commit


def _remember_new(opened: Opened, paths: Collection[TreePath]) -> None:
    """A session that we made was saved by no agent: it can be changed, or taken back, at once."""
    before = opened.clock() - opened.settings.session_hot
    for path in paths:
        signature = opened.read(path).signature
        if signature is not None and opened.classify(path) is PathClass.SESSION:
            saves.note(opened.repo.git, path, before, signature)
