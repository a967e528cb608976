"""A plain folder of Markdown notes: no sessions, no queue, just files worth keeping."""

from pathlib import Path

from gitmem.agents.layout import Layout

NAME = "plain"


def detect(directory: Path) -> bool:
    """Any folder will do."""
    return directory.is_dir()


def layout(directory: Path, sessions: Path | None = None) -> Layout:
    """The layout of a folder of notes."""
    mapped = {} if sessions is None else {"sessions": sessions}
    return Layout(NAME, directory, mapped)
