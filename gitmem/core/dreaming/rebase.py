"""A file that was edited while a model thought about it: the model's edits on top of the person's, or none of them."""

from dataclasses import replace

from gitmem.core.merge.files import merge_file
from gitmem.core.model import Change, File, PathClass, TreePath
from gitmem.errors import DreamFailed


def rebased(path_class: PathClass, path: TreePath, versions: tuple[File | None, File | None, File]) -> Change:
    """The change to make to a file as it is now.

    Args:
        path_class: What the path means.
        path: The file.
        versions: What the model saw, what is there now, what the model makes of what it saw.

    Raises:
        DreamFailed: Both changed the same place.
    """
    seen, now, new = versions
    if now == seen:
        return Change(path, now, new)
    base, ours = (None if file is None else file.data for file in (seen, now))
    merged = merge_file(path_class, path, base, ours, new.data)
    if merged.conflicts or merged.data is None:
        raise DreamFailed("conflict", f"{path} was edited meanwhile, in the same place")
    return Change(path, now, replace(now or new, data=merged.data))
