"""Taking a commit's change out of a Markdown file, fact by fact (gitstore, section 6)."""

from gitmem.core.markdown import parse, render
from gitmem.core.merge.lines import merge_lines
from gitmem.core.merge.markdown import document_of
from gitmem.core.merge.spacing import Text, texts
from gitmem.core.merge.takeback import CannotUndoError, align, take_back


def undo_markdown(commit: bytes, now: bytes, before: bytes) -> bytes:
    """The file without the commit's change: units are added, removed and moved as wholes.

    Raises:
        CannotUndoError: A unit of the commit was changed since; not where the changes are in different lines of it.
    """
    versions = (parse(commit), parse(now), parse(before))
    taken = take_back(align(*(texts(version) for version in versions)), _mend)
    if taken.clashes:
        raise CannotUndoError(
            "later changes touch the same facts",
            [clash.map(lambda text: text.text) for clash in taken.clashes],
        )
    return render(document_of(taken.items, *versions))


def _mend(commit: Text, now: Text, before: Text) -> Text | None:
    text = merge_lines(commit.text, now.text, before.text) if b"\n" in commit.text else None
    return None if text is None else Text(now.kind, text)
