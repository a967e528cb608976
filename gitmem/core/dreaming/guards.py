"""Whether a draft as a whole may become memory: what single edits cannot show (memory-engine, section 3, guards)."""

from gitmem.core.dreaming.batch import Batch
from gitmem.core.dreaming.draft import LONG_TERM, Draft, facts
from gitmem.core.guard import entries

_TOLERATED = 0.25
"""The share of a file's facts that a run may delete without an entry that corrects them."""
_REPLACED = 0.5
"""The share of a file's facts that a run may replace, where the file is not small."""
_FEW = 4


def tripped(draft: Draft, batch: Batch) -> str | None:
    """Why a run has to fail; None when it may be carried out."""
    for path in LONG_TERM:
        before, after = facts(draft.before.get(path, "")), facts(draft.texts.get(path, ""))
        if before and not after:
            return f"it would empty {path}"
        number = _deleted(draft, batch, path)
        if number > max(1, len(before) * _TOLERATED):
            return f"it would delete {number} of {len(before)} facts of {path}"
        gone = len(set(before) - set(after))
        if len(before) >= _FEW and gone > max(_FEW, len(before) * _REPLACED):
            return f"it would replace {gone} of {len(before)} facts of {path}"
    for path, text in draft.before.items():
        lines, left = (
            entries(words.encode("utf-8", "surrogateescape")) for words in (text, draft.texts.get(path, ""))
        )
        lost = (lines - left).total()
        if lost > max(_FEW, lines.total() * _REPLACED):
            return f"it would take {lost} of {lines.total()} lines out of {path}"
    return None


def _deleted(draft: Draft, batch: Batch, path: str) -> int:
    """Facts of a file that edits take away without anything in their place, and without a correction to show for it."""
    return sum(
        max(0, len(change.took) - len(change.brought))
        for change in draft.changes
        if change.edit.file == path and not batch.corrections & set(change.edit.sources)
    )
