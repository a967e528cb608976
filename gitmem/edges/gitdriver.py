"""Having plain git merge as a sync does: a driver in the repository's own configuration, on a person's request only.

Written are `config` and `info/attributes` of the repository, between marks: both can be taken out again, and nothing else of
them changes. gitmem itself never reads either.
"""

import shlex
import sys
from pathlib import Path

from gitmem.edges import durable
from gitmem.edges.gitdir import GitDir

_BEGIN, _END = "# begin gitmem", "# end gitmem"
_PATTERNS = ("*.jsonl", "*.md", ".cursor", ".dream_cursor")


def install(git: GitDir) -> list[Path]:
    """Set the driver up; doing it twice is the same as once.

    Returns:
        The files written.
    """
    program = f"{shlex.quote(sys.executable)} -m gitmem merge-file %O %A %B %P"
    driver = program.replace("\\", "\\\\").replace('"', '\\"')
    config = f'[merge "gitmem"]\n\tname = facts, messages and entries, not lines\n\tdriver = "{driver}"\n'
    attributes = "".join(f"{pattern} merge=gitmem\n" for pattern in _PATTERNS)
    return [_put(git.common / "config", config), _put(git.common / "info" / "attributes", attributes)]


def uninstall(git: GitDir) -> None:
    """Take it out again."""
    for path in (git.common / "config", git.common / "info" / "attributes"):
        if is_installed(path):
            _write(path, _without(path.read_text("utf-8", "surrogateescape")))


def is_installed(path: Path) -> bool:
    """Whether a file holds our part."""
    return path.is_file() and _BEGIN in path.read_text("utf-8", "surrogateescape")


def status(git: GitDir) -> bool:
    """Whether the driver is set up."""
    return is_installed(git.common / "config") and is_installed(git.common / "info" / "attributes")


def _put(path: Path, text: str) -> Path:
    known = _without(path.read_text("utf-8", "surrogateescape")) if path.is_file() else ""
    gap = "" if not known or known.endswith("\n") else "\n"
    durable.make_folders(path.parent)
    _write(path, f"{known}{gap}{_BEGIN}\n{text}{_END}\n")
    return path


def _without(text: str) -> str:
    head, mark, rest = text.partition(f"{_BEGIN}\n")
    return text if not mark else head + rest.partition(f"{_END}\n")[2]


def _write(path: Path, text: str) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    durable.replace(path, text.encode("utf-8", "surrogateescape"), mode)
