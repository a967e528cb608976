"""The long-term files: SOUL.md, USER.md, memory/MEMORY.md, skills, and the rules of a Dream (memory-format, section 4).

A write compares with what was read; facts that others added meanwhile stay (case B23).
"""

from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.dreaming import skills
from gitmem.core.dreaming.draft import LONG_TERM
from gitmem.core.dreaming.skills import Skill
from gitmem.core.merge.files import merge_file
from gitmem.core.model import MODE_SYMLINK, File, PathClass, TreePath
from gitmem.edges import files
from gitmem.edges.lock import FileLock
from gitmem.errors import StaleMemory, UnsafePath, UsageError

RULES = "prompts/dream.md"
_PATIENCE = 30.0
_TRIES = 50
"""How often a writer that takes no lock may come in between."""


@dataclass(frozen=True)
class Text:
    """A file as it was read.

    Attributes:
        path: The file, as in a tree.
        data: Its bytes; None where there was none.
    """

    path: TreePath
    data: bytes | None

    @property
    def text(self) -> str:
        """Its text; bytes that are no UTF-8 are kept as surrogates."""
        return (self.data or b"").decode("utf-8", "surrogateescape")


class MemoryStore:
    """The long-term files of a workspace. Any number of threads and processes may write them at once.

    Args:
        directory: The workspace.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = FileLock(directory / "memory" / ".longterm.lock")

    def read(self, path: TreePath) -> Text:
        """Read a file; one that does not exist has no text.

        Raises:
            UsageError: It is no long-term file.
            UnsafePath: The file is a symbolic link, or lies behind one.
        """
        file = self._file(path)
        return Text(path, None if file is None else file.data)

    def write(self, known: Text | TreePath, text: str, base: str | None = None) -> Text:
        """Write a file.

        Args:
            known: What `read` or `write` gave: what the new text was made of. Or the path of the file.
            text: The new text.
            base: With a path: the text that the new one was made of; None where there was no file.

        Returns:
            The file as it is now: with what others changed meanwhile.

        Raises:
            StaleMemory: Others changed the same facts meanwhile. Nothing was written.
            UsageError: It is no long-term file, or the text cannot be stored.
            UnsafePath: The file is a symbolic link, or lies behind one.
            WorkspaceLocked: Another process holds the files for seconds.
        """
        if not isinstance(known, Text):
            known = Text(known, None if base is None else _bytes(base))
        _check(known.path)
        wanted = _bytes(text)
        with self._lock.hold(_PATIENCE):
            for _ in range(_TRIES):
                disk = self._file(known.path)
                now = None if disk is None else disk.data
                data = wanted if now == known.data else _merged(known, now, wanted)
                new = File(data) if disk is None else replace(disk, data=data)
                if new == disk or files.install(self._directory, known.path, disk, new).ok:
                    return Text(known.path, data)
        raise StaleMemory(f"others keep writing {known.path}", "Try again.")

    def skills(self) -> list[Skill]:
        """The skills there are, as their front matter tells them, by name of folder; links are left out."""
        folder = self._directory / "skills"
        if folder.is_symlink() or not folder.is_dir():
            return []
        found = [f"skills/{path.name}/SKILL.md" for path in sorted(folder.iterdir()) if not path.is_symlink()]
        return [skills.skill(path, self.read(path).text) for path in found if self._is_skill(path)]

    def _is_skill(self, path: TreePath) -> bool:
        file = self._directory / path
        return skills.PATH.fullmatch(path) is not None and file.is_file() and not file.is_symlink()

    def _file(self, path: TreePath) -> File | None:
        _check(path)
        file = files.read_stable(self._directory, path).file
        if file is not None and file.mode == MODE_SYMLINK:
            raise UnsafePath(f"{path} is a symbolic link", "Put the file itself there.")
        return file


def _check(path: TreePath) -> None:
    if path not in (*LONG_TERM, RULES) and not skills.PATH.fullmatch(path):
        raise UsageError(
            f"{path!r} is no long-term file",
            f"Those are {', '.join(LONG_TERM)}, skills/<name>/SKILL.md, {RULES}.",
        )


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UsageError(f"the text holds half a character: {error}") from error


def _merged(known: Text, now: bytes | None, wanted: bytes) -> bytes:
    merged = merge_file(PathClass.MEMORY, known.path, known.data, now, wanted)
    if merged.conflicts or merged.data is None:
        raise StaleMemory(f"{known.path} was changed by others in the same place", "Read it again.")
    return merged.data
