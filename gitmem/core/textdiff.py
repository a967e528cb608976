"""A change of one file as a unified diff in git's form: what `git apply` takes, or what is safe to look at.

Lines end at LF only; U+2028 and its kin are text. A file with a NUL among its first 8,000 bytes is binary,
as in git.
"""

import stat as modes
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.core.linediff import counts, hunks
from gitmem.core.model import Change, File, TreePath
from gitmem.core.printable import decode

_LOOKED_AT = 8000
_NO_NEWLINE = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Stat:
    """How much a change changes.

    Attributes:
        path: Of the file.
        added: Lines; 0 for a binary file.
        removed: Lines; 0 for a binary file.
        binary: Whether either version is binary.
        old_size: Bytes before; None where there was no file.
        new_size: Bytes after; None where there is none.
    """

    path: TreePath
    added: int
    removed: int
    binary: bool
    old_size: int | None
    new_size: int | None


def is_binary(data: bytes) -> bool:
    """Whether git would take these bytes for binary."""
    return b"\0" in data[:_LOOKED_AT]


def split_lines(data: bytes) -> list[bytes]:
    """The lines, each with its LF; the last one without where the file has none."""
    *whole, rest = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, rest] if rest else lines


def stat(change: Change) -> Stat:
    """Count the lines a change adds and removes."""
    old, new = change.old, change.new
    binary = any(file is not None and is_binary(file.data) for file in (old, new))
    added, removed = (0, 0) if binary else counts(_lines(old), _lines(new))
    return Stat(
        change.path,
        added,
        removed,
        binary,
        old_size=None if old is None else len(old.data),
        new_size=None if new is None else len(new.data),
    )


def _lines(file: File | None) -> list[bytes]:
    return [] if file is None else split_lines(file.data)


def unified(change: Change, context: int = 3) -> str:
    """A diff for people: what a terminal could obey or cannot show is escaped, so bytes may differ."""
    return decode(unified_bytes(change, context))


def unified_bytes(change: Change, context: int = 3) -> bytes:
    """A diff with the exact bytes of both versions, for `git apply` and other programs.

    Args:
        change: The file before and after; a change from a file to a link is a removal and an addition.
        context: Equal lines around each change.
    """
    return b"".join(_unified(change, context))


def _unified(change: Change, context: int) -> Iterator[bytes]:
    old, new = change.old, change.new
    if old is not None and new is not None and modes.S_IFMT(old.mode) != modes.S_IFMT(new.mode):
        yield from _unified(Change(change.path, old, None), context)
        yield from _unified(Change(change.path, None, new), context)
        return
    yield header(change).encode("utf-8", "surrogateescape")
    if (old and old.data) == (new and new.data):
        return
    before, after = names(change)
    if any(file is not None and is_binary(file.data) for file in (old, new)):
        sizes = " -> ".join("none" if file is None else str(len(file.data)) for file in (old, new))
        text = f"Binary files {before} and {after} differ ({sizes} bytes)\n"
        yield text.encode("utf-8", "surrogateescape")
        return
    if not (old and old.data) and not (new and new.data):
        return
    yield f"--- {_spaced(before)}\n+++ {_spaced(after)}\n".encode("utf-8", "surrogateescape")
    for hunk in hunks(_lines(old), _lines(new), context):
        yield hunk.header().encode() + b"\n"
        for sign, line in hunk.lines:
            yield sign.encode() + line
            if not line.endswith(b"\n"):
                yield b"\n" + _NO_NEWLINE


def header(change: Change) -> str:
    """The lines before `---`: which file, and what became of its mode."""
    old, new = change.old, change.new
    lines = [f"diff --git {quoted('a/' + change.path)} {quoted('b/' + change.path)}"]
    if old is None and new is not None:
        lines.append(f"new file mode {new.mode:06o}")
    elif new is None and old is not None:
        lines.append(f"deleted file mode {old.mode:06o}")
    elif old is not None and new is not None and old.mode != new.mode:
        lines += [f"old mode {old.mode:06o}", f"new mode {new.mode:06o}"]
    return "\n".join(lines) + "\n"


def names(change: Change) -> tuple[str, str]:
    """What stands after `---` and `+++`."""
    before = "/dev/null" if change.old is None else quoted("a/" + change.path)
    after = "/dev/null" if change.new is None else quoted("b/" + change.path)
    return before, after


def _spaced(name: str) -> str:
    """A tab ends a name with blanks in it, so that patch programs know where it ends."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def quoted(path: TreePath) -> str:
    """A path as git quotes it with core.quotePath off: only what is not printable, quotes and backslashes."""
    raw = path.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "replace")
    if text == path and all(code >= 32 and code not in (34, 92, 127) for code in raw):
        return path
    parts = (_ESCAPES.get(code) or (chr(code) if 32 <= code < 127 else f"\\{code:03o}") for code in raw)
    return f'"{"".join(parts)}"'
