"""When an agent itself last saved a session, as told from what gitmem wrote into the same file since.

A session that gitmem has just archived or reverted has a fresh time on disk, but nobody holds it in memory because of that.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from gitmem.core.model import TreePath
from gitmem.edges import durable
from gitmem.edges.files import Signature
from gitmem.edges.gitdir import GitDir

_MOST = 500


@dataclass(frozen=True)
class _Written:
    """A file as gitmem left it, and when its agent had saved it before (Unix seconds)."""

    inode: int
    mtime_ns: int
    saved: float


def saved_at(git: GitDir, path: TreePath, signature: Signature) -> float:
    """Unix seconds of the last save by anybody but gitmem."""
    written = _read(git).get(path)
    if written is not None and (written.inode, written.mtime_ns) == (signature.inode, signature.mtime_ns):
        return written.saved
    return signature.mtime_ns / 1e9


def note(git: GitDir, path: TreePath, saved: float, now: Signature) -> None:
    """Remember what gitmem wrote.

    Args:
        git: The repository.
        path: The file.
        saved: What `saved_at` said before.
        now: The file as it is now.
    """
    known = _read(git)
    known.pop(path, None)
    known[path] = _Written(now.inode, now.mtime_ns, saved)
    rows = {name: asdict(row) for name, row in list(known.items())[-_MOST:]}
    durable.replace(_file(git), json.dumps(rows).encode("utf-8", "surrogateescape"), 0o600)


def _file(git: GitDir) -> Path:
    return git.state / "saves.json"


def _read(git: GitDir) -> dict[TreePath, _Written]:
    try:
        rows = json.loads(_file(git).read_text("utf-8"))
        return {path: _Written(**row) for path, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
