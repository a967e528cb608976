"""What changed in one file, in a few words: the facts that commit messages are made of."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gitmem.core import history
from gitmem.core.model import MODE_EXECUTABLE, MODE_SYMLINK, Change, File, TreePath

_SNIFFED = 8000
"""Bytes looked at to tell text from other files, as git does."""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """One file before and after.

    Attributes:
        path: The file.
        added: Lines that came; 0 for a file that is no text.
        removed: Lines that went.
        words: What else there is to say, such as `new` or `now executable`.
    """

    path: TreePath
    added: int
    removed: int
    words: tuple[str, ...]

    def told(self) -> str:
        """As in `+3 -1`, or `new, +12`."""
        counts = [f"+{self.added}"] * bool(self.added) + [f"-{self.removed}"] * bool(self.removed)
        return ", ".join([*self.words, *([" ".join(counts)] if counts else [])]) or "+0 -0"


def file_delta(change: Change) -> FileDelta:
    """Compare two versions of a file by its lines, without regard to their order."""
    old, new = change.old, change.new
    if old is not None and new is not None and (numbers := _numbers(old, new)) is not None:
        return FileDelta(change.path, 0, 0, (f"{numbers[0]} -> {numbers[1]}",))
    if not all(_is_text(file) for file in (old, new) if file is not None):
        return FileDelta(change.path, 0, 0, tuple(_sizes(old, new)))
    before, after = (_line_counts(file.data if file else b"") for file in (old, new))
    added, removed = (after - before).total(), (before - after).total()
    words = list(_words(old, new))
    if not words and not added and not removed:
        words.append("white space" if _same_text(old, new) else "lines moved")
    return FileDelta(change.path, added, removed, tuple(words))


def _numbers(old: File, new: File) -> tuple[int, int] | None:
    """The numbers in two versions of a cursor file."""
    before, after = history.parse_cursor(old.data), history.parse_cursor(new.data)
    return None if before is None or after is None or before == after else (before, after)


def _is_text(file: File) -> bool:
    return file.mode != MODE_SYMLINK and b"\0" not in file.data[:_SNIFFED]


def _sizes(old: File | None, new: File | None) -> Iterable[str]:
    if new is None:
        yield "removed"
    elif new.mode == MODE_SYMLINK:
        yield f"link to {new.data.decode('utf-8', 'replace')}"
    else:
        yield from _words(old, new)
        if old is None or old.mode == MODE_SYMLINK or len(old.data) == len(new.data):
            yield size(len(new.data))
        else:
            yield f"{size(len(old.data))} -> {size(len(new.data))}"


def _words(old: File | None, new: File | None) -> Iterable[str]:
    if old is None and new is not None:
        yield "new" if new.data else "new, empty"
    elif new is None:
        yield "removed"
    elif old is not None:
        if old.data and not new.data:
            yield "emptied"
        if old.mode == MODE_SYMLINK:
            yield "no longer a link"
        elif old.mode != new.mode:
            yield "now executable" if new.mode == MODE_EXECUTABLE else "no longer executable"


def _line_counts(data: bytes) -> Counter[bytes]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return Counter(line.rstrip(b"\r") for line in lines)


def _same_text(old: File | None, new: File | None) -> bool:
    return old is not None and new is not None and old.data.split() == new.data.split()


def size(count: int) -> str:
    """Bytes as a person says them: `512 bytes`, `1.5 kB`, `3.0 MB`."""
    if count < 1000:
        return f"{count} bytes" if count != 1 else "1 byte"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
