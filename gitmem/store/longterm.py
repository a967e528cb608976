"""The long-term files: SOUL.md, USER.md, memory/MEMORY.md, skills, and the rules of a Dream (memory-format, section 4).

A write compares with what was read; facts that others added meanwhile stay (case B23).
"""

from dataclasses import dataclass
from pathlib import Path

from gitmem.core.dreaming import skills
from gitmem.core.dreaming.draft import LONG_TERM
from gitmem.core.dreaming.skills import Skill
from gitmem.core.merge.files import merge_file
from gitmem.core.model import File, PathClass, TreePath
from gitmem.edges import files
from gitmem.edges.lock import FileLock
from gitmem.errors import Stale, UsageError

RULES = "prompts/dream.md"
_TRIES = 50
_PATIENCE = 30.0


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
    """The long-term files of a workspace.

    Args:
        directory: The workspace.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, path: TreePath) -> Text:
        """Read a file; one that does not exist has no text.

        Raises:
            UsageError: It is no long-term file.
        """
        _check(path)
        file = files.read_stable(self._directory, path).file
        return Text(path, None if file is None else file.data)

    def write(self, known: Text, text: str) -> Text:
        """Write a file.

        Args:
            known: What `read` or `write` gave: what the new text was made of.
            text: The new text.

        Returns:
            The file as it is now: with what others changed meanwhile.

        Raises:
            Stale: Others changed the same facts meanwhile. Nothing was written.
            UnsafePath: The file is a symbolic link, or lies behind one.
        """
        with FileLock(self._directory / "memory" / ".longterm.lock").hold(_PATIENCE):
            return self._write(known, text.encode("utf-8", "surrogateescape"))

    def _write(self, known: Text, wanted: bytes) -> Text:
        for _ in range(_TRIES):
            disk = files.read_stable(self._directory, known.path).file
            now = None if disk is None else disk.data
            data = wanted if now == known.data else _merged(known, now, wanted)
            mode = File(b"").mode if disk is None else disk.mode
            if files.install(self._directory, known.path, disk, File(data, mode)).ok:
                return Text(known.path, data)
        raise Stale(f"others keep writing {known.path}", "Try again.")

    def skills(self) -> list[Skill]:
        """The skills there are, as their front matter tells them, by name of folder."""
        folder = self._directory / "skills"
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        found = [f"skills/{path.name}/SKILL.md" for path in paths]
        return [
            skills.skill(path, self.read(path).text)
            for path in found
            if skills.PATH.fullmatch(path) and (self._directory / path).is_file()
        ]


def _check(path: TreePath) -> None:
    if path not in (*LONG_TERM, RULES) and not skills.PATH.fullmatch(path):
        raise UsageError(
            f"{path} is no long-term file",
            f"Those are {', '.join(LONG_TERM)}, skills/<name>/SKILL.md, {RULES}.",
        )


def _merged(known: Text, now: bytes | None, wanted: bytes) -> bytes:
    merged = merge_file(PathClass.MEMORY, known.path, known.data, now, wanted)
    if merged.conflicts or merged.data is None:
        raise Stale(f"{known.path} was changed by others in the same place", "Read it again.")
    return merged.data
