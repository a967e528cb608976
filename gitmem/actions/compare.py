"""What is different on the disk: the working tree beside a commit."""

from collections.abc import Iterator, Sequence

from gitmem.core.model import Change, CommitInfo, TreePath
from gitmem.core.pathspec import is_below
from gitmem.edges import tip
from gitmem.edges.batch import read_batch
from gitmem.edges.opened import Opened


def against_disk(
    opened: Opened, old: CommitInfo | None = None, paths: Sequence[TreePath] = ()
) -> Iterator[Change]:
    """Files that differ on the disk, as they would be committed: sessions without machine-local fields.

    Args:
        opened: The workspace.
        old: The commit to compare with; the one the next commit starts from when not given.
        paths: Only these files and what is below these folders.
    """
    tracked = opened.repo.files(tip.current(opened).base if old is None else old.sha)
    present = {path for path, _ in opened.walk()}
    for path in sorted(present | tracked.keys()):
        if is_below(path, paths):
            yield from read_batch(opened, tracked, (path,), (path,)).changes.values()
