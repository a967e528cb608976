"""Reading a batch of paths from the disk and comparing them with what is committed."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gitmem.core import guard
from gitmem.core.checkpoint import has_run_state
from gitmem.core.model import Change, File, Finding, PathClass, TreePath
from gitmem.core.settled import Verdict, judge
from gitmem.edges.files import Signature
from gitmem.edges.objects import blob_sha
from gitmem.edges.opened import Opened
from gitmem.edges.trees import Entry
from gitmem.errors import UnsafePath


@dataclass
class Batch:
    """What reading found.

    Attributes:
        changes: Files that differ from the commit.
        run_state: Sessions and sidecars that hold run state now, whole.
        waiting: Paths a writer is in the middle of.
        torn: Paths taken although torn, because they have waited long enough.
        findings: What a person may want to know.
        signatures: The signature of every file whose bytes are now known.
    """

    changes: dict[TreePath, Change] = field(default_factory=dict)
    run_state: dict[TreePath, File] = field(default_factory=dict)
    waiting: set[TreePath] = field(default_factory=set)
    torn: set[TreePath] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    signatures: dict[TreePath, Signature] = field(default_factory=dict)


def noteworthy(path_class: PathClass) -> bool:
    """Whether a file of this class is read at all."""
    return path_class.versioned or path_class in (PathClass.SIDECAR, PathClass.CONFLICT_COPY)


def holds_run_state(path_class: PathClass, file: File) -> bool:
    """Whether a file belongs on the in-flight ref as it is now."""
    if path_class is PathClass.SIDECAR:
        return True
    return path_class is PathClass.SESSION and has_run_state(file.data)


def read_batch(
    opened: Opened,
    tracked: Mapping[TreePath, Entry],
    paths: Iterable[TreePath],
    overdue: Collection[TreePath],
) -> Batch:
    """Read every path and judge it.

    Args:
        opened: The workspace.
        tracked: The files of the commit to compare with.
        paths: Files to look at; they may be gone, odd or not ours.
        overdue: Paths that have waited long enough: taken as they are.
    """
    batch = Batch()
    for path in sorted(paths):
        path_class = opened.classify(path)
        if not noteworthy(path_class):
            continue
        if path_class is PathClass.CONFLICT_COPY:
            _report_copy(opened, batch, path)
            continue
        try:
            _read_one(opened, batch, path, tracked.get(path), late=path in overdue)
        except UnsafePath as error:
            batch.findings.append(Finding("unsafe-path", path, str(error)))
        except OSError as error:  # one bad file must not keep the others out of history
            batch.findings.append(Finding("unreadable", path, f"cannot be read: {error.strerror}"))
    return batch


def _report_copy(opened: Opened, batch: Batch, path: TreePath) -> None:
    if opened.workspace.layout.disk(path).is_file():
        text = "left by a file-sync tool and not committed; it may hold text that the file beside it lacks"
        batch.findings.append(Finding("conflict-copy", path, text))


def _read_one(opened: Opened, batch: Batch, path: TreePath, entry: Entry | None, *, late: bool) -> None:
    reading = opened.read(path)
    path_class = opened.classify(path)
    if reading.too_large:
        text = f"{reading.size} bytes: larger than attachment_limit, not committed"
        batch.findings.append(Finding("too-large", path, text))
        return
    if reading.unstable and (not late or reading.file is None):
        batch.waiting.add(path)
        return
    if reading.unstable:
        batch.torn.add(path)
    disk = reading.file
    if disk is not None and holds_run_state(path_class, disk):
        batch.run_state[path] = disk
    if path_class is PathClass.SIDECAR:
        return
    if disk is None:
        if entry is not None:
            batch.changes[path] = Change(path, opened.repo.read(entry), None)
        return
    _compare(opened, batch, path, entry, disk, late=late)
    if reading.signature is not None and path not in batch.waiting:
        batch.signatures[path] = reading.signature


def _compare(
    opened: Opened, batch: Batch, path: TreePath, entry: Entry | None, disk: File, *, late: bool
) -> None:
    if entry is not None and entry.mode == disk.mode and entry.sha == blob_sha(disk.data):
        return
    old = None if entry is None else opened.repo.read(entry)
    path_class = opened.classify(path)
    judged = judge(path_class, old, disk)
    if judged.file == old or judged.verdict is Verdict.RUN_STATE:
        return
    if judged.verdict is Verdict.WAIT:
        if not late:
            batch.waiting.add(path)
            return
        batch.torn.add(path)
    batch.changes[path] = Change(path, old, judged.file)
    batch.findings += guard.findings(batch.changes[path])
