"""What the tests of a Dream share: a memory, a batch, edits."""

from typing import Any

from gitmem.core import history
from gitmem.core.dreaming import draft as drafts
from gitmem.core.dreaming.batch import Batch, next_batch
from gitmem.core.dreaming.draft import Draft
from gitmem.core.dreaming.proposal import Edit, Refusal, read_edit

TEXTS = {
    "SOUL.md": "# Soul\n\n- be brief\n",
    "USER.md": "# User\n\n- likes tea\n- lives in Lyon\n",
    "memory/MEMORY.md": (
        "# Memory\n\n## Server\n\n- backups go to /mnt/a\n- runs at 03:10\n  every night\n\n## Books\n\n- lent to Lin\n"
    ),
}


def batch(*contents: str) -> Batch:
    """Entries with cursors from 1."""
    lines = [history.record(n, "2026-01-05 09:00", text) for n, text in enumerate(contents, 1)]
    found = next_batch(history.parse(b"\n".join(lines)), 0, lambda _: True)
    assert found is not None
    return found


BATCH = batch("- [durable] the backup moved", "- [correction] it runs at 04:00", "- [skip] rain")


def values(
    op: str, text: str = "", anchor: str = "", file: str = "memory/MEMORY.md", sources: Any = (1,)
) -> dict[str, Any]:
    """An edit as a model sends it."""
    return {"file": file, "op": op, "anchor": anchor, "text": text, "sources": list(sources)}


def edit(
    op: str, text: str = "", anchor: str = "", file: str = "memory/MEMORY.md", sources: Any = (1,)
) -> Edit:
    """An edit that has been read."""
    found = read_edit(1, values(op, text, anchor, file, sources))
    assert not isinstance(found, Refusal)
    return found


def applied(*edits: Edit, before: Draft | None = None) -> Draft:
    """The draft with edits."""
    draft = before or drafts.begin(TEXTS)
    for one in edits:
        draft = drafts.apply(draft, one, BATCH)
    return draft


def memory(draft: Draft) -> str:
    """The text of MEMORY.md."""
    return draft.texts["memory/MEMORY.md"]
