"""Walking a folder quickly: one `scandir` a folder, one `lstat` a file, never into links or other repositories."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from gitmem.core.model import TreePath
from gitmem.edges.files import Signature, signature_of


def walk(root: Path, *, descend: Callable[[TreePath], bool]) -> Iterator[tuple[TreePath, Signature]]:
    """Every regular file and symbolic link below a folder, with its signature.

    Args:
        root: Where to begin.
        descend: Whether to enter a folder, by its path below the root. `.git` and folders that hold one are never entered.

    A folder or file that vanishes meanwhile is left out; one that may not be read is too.
    """
    pending: list[tuple[str, str]] = [(os.fspath(root), "")]
    while pending:
        folder, prefix = pending.pop()
        for entry in _entries(folder):
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git" and descend(path) and not os.path.lexists(f"{entry.path}/.git"):
                    pending.append((entry.path, path + "/"))
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                try:
                    yield path, signature_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
