"""What a merge could not decide, as a value: it is recorded in a file that syncs like any other (merge.md, section 2.4)."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gitmem.core.jsontext import dump
from gitmem.core.model import File, TreePath

FOLDER = ".gitmem/conflicts"
_PRIVATE = ("sessions/", "skills/", "memory/")
"""Folders in which an agent would take a copy for one of its own files."""
_MAX_NAME = 255
"""Bytes of a file name that file systems take."""


class ConflictKind(StrEnum):
    """What two sides did that cannot both hold."""

    EDIT = "edit/edit"
    """Both changed a unit; both texts are in the file, except of a heading or front matter, of which there can be one."""
    DELETE = "delete/modify"
    """One removed what the other changed; it stays."""
    METADATA = "metadata"
    """Both changed a field of a session's state."""
    FILE = "file"
    """Both changed a file that cannot be merged; the losing version is kept as a copy."""
    TYPE = "type"
    """A file, a link: both changed what lies at the path; the losing one is kept as a copy."""
    DREAM = "dream/dream"
    """Both dreamed of the same entries while apart: each wrote what it made of them into the long-term memory."""
    PLACE = "file/directory"
    """A file where the other side has a folder; the file moved aside."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One undecided place. It holds no time, host or side, so that every machine writes the same record.

    Attributes:
        path: The file.
        kind: What happened.
        base: The text both sides started from; None where there was none.
        values: What the two sides made of it, sorted; the empty text for "removed". A file as a whole is named by its sha256.
        copy: Where the losing version of a whole file is.
    """

    path: TreePath
    kind: ConflictKind
    base: str | None
    values: tuple[str, ...]
    copy: TreePath | None = None

    @property
    def record(self) -> tuple[TreePath, File]:
        """Path and content of the record's file."""
        fields: dict[str, object] = {"path": self.path, "kind": self.kind.value}
        fields |= {"base": self.base, "values": list(self.values)}
        if self.copy is not None:
            fields["copy"] = self.copy
        data = dump(fields)
        return f"{FOLDER}/{digest(data)[:16]}.json", File(data + b"\n")


def conflict(path: TreePath, kind: ConflictKind, base: bytes | None, values: Iterable[bytes]) -> Conflict:
    """A conflict about texts; bytes that are no UTF-8 are shown as escapes."""
    return Conflict(
        path, kind, None if base is None else shown(base), tuple(shown(v) for v in sorted(values))
    )


def shown(text: bytes) -> str:
    """Bytes as text for a record."""
    return text.decode("utf-8", "backslashreplace")


def digest(data: bytes) -> str:
    """The sha256 of bytes, as hex."""
    return hashlib.sha256(data).hexdigest()


def copy_path(path: TreePath, data: bytes, length: int = 8) -> TreePath:
    """Where a losing version is kept: named by its content, so that copies never conflict themselves.

    Beside the winner, except where an agent would read it, or where nothing would be kept: hidden files are of the machine.

    Args:
        path: Where it lost.
        data: The losing bytes.
        length: How many hex digits of their sha256 the name has.
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    ending = f".conflict-{digest(data)[:length]}{dot}{extension}"
    while len(f"{stem}{ending}".encode("utf-8", "surrogateescape")) > _MAX_NAME and stem:
        stem = stem[:-1]
    copy = f"{folder}{slash}{stem}{ending}"
    return f"{FOLDER}/files/{copy}" if path.startswith(_PRIVATE) or name.startswith(".") else copy
