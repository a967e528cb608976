"""nanobot: a workspace with SOUL.md, USER.md and memory/, and a git repository of its own that ignores all but four files.

Until 0.2 its sessions lie in `<workspace>/sessions`; from 0.3 on in `<config dir>/sessions/<workspace id>/`, where the id
stands in `<workspace>/.nanobot/workspace-id` (real-world.md, section 2).
"""

from pathlib import Path

from gitmem.agents.layout import Layout

NAME = "nanobot"
_IDENTITY = Path(".nanobot") / "workspace-id"
_OWN_IGNORE = "/*\n"


def detect(directory: Path) -> bool:
    """Whether the folder is a nanobot workspace: it has an identity, or the ignore-all file nanobot writes."""
    if (directory / _IDENTITY).is_file():
        return True
    ignore = directory / ".gitignore"
    if not (directory / "memory").is_dir() or not ignore.is_file():
        return False
    return ignore.read_text("utf-8", "replace").startswith(_OWN_IGNORE)


def layout(directory: Path, sessions: Path | None = None) -> Layout:
    """The layout of a nanobot workspace.

    Args:
        directory: The workspace.
        sessions: Its session folder where it lies outside; found by the workspace id when not given.
    """
    outside = sessions or find_sessions(directory)
    mapped = {} if outside is None else {"sessions": outside}
    return Layout(
        NAME,
        directory,
        mapped,
        session_lock=(outside or directory / "sessions") / ".session-files.lock",
        processes=("nanobot",),
        replays_itself=True,
    )


def find_sessions(directory: Path) -> Path | None:
    """The session folder outside the workspace: in nanobot's own folder, or in the one the workspace lies in."""
    try:
        identity = (directory / _IDENTITY).read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return None
    if not identity.isalnum():
        return None
    candidates = (Path.home() / ".nanobot", directory.parent)
    folders = (base / "sessions" / identity for base in candidates)
    return next((folder for folder in folders if folder.is_dir()), None)


def misses_sessions(directory: Path) -> bool:
    """Whether the sessions lie outside but were not found, so that `--sessions` is needed."""
    return (directory / _IDENTITY).is_file() and find_sessions(directory) is None
