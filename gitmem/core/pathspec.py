"""Paths as a person names them to choose files: a file, or a folder and everything below it."""

from collections.abc import Collection

from gitmem.core.model import TreePath


def is_below(path: TreePath, chosen: Collection[TreePath]) -> bool:
    """Whether a file is one of the chosen ones or below one.

    Args:
        path: Of the file.
        chosen: Files and folders, without a final slash; the empty one is everything, and so is no choice.
    """
    return not chosen or any(not one or path == one or path.startswith(f"{one}/") for one in chosen)
