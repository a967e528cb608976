"""Whether an agent probably holds a session in memory right now (merge.md, section 5: hot)."""

from gitmem.core.checkpoint import is_mid_turn
from gitmem.core.model import PathClass, TreePath
from gitmem.core.session_names import sidecar_of
from gitmem.edges import saves
from gitmem.edges.opened import Opened


def why_hot(opened: Opened, path: TreePath) -> str | None:
    """Why a session is better left alone for a while; None for one that is at rest, and for other files.

    A session at rest may still be in an agent's memory; what the agent writes then is put on top of what was installed, by way of
    views. Leaving fresh ones alone only makes that rare.
    """
    if opened.classify(path) is not PathClass.SESSION:
        return None
    reading = opened.read(path)
    if reading.file is None or reading.signature is None:
        return None
    if is_mid_turn(reading.file.data) or opened.read(sidecar_of(path)).file is not None:
        return "in the middle of a turn"
    age = opened.clock() - saves.saved_at(opened.repo.git, path, reading.signature)
    return f"saved {age:.0f} s ago" if age < opened.settings.session_hot else None
