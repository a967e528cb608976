"""The facts of a Markdown file with their places: what provenance is told for."""

from dataclasses import dataclass

from gitmem.core import markdown
from gitmem.core.markdown import UnitKind
from gitmem.core.provenance import plain


@dataclass(frozen=True, slots=True)
class Fact:
    """A list item or paragraph.

    Attributes:
        line: Its first line, from 1.
        text: Without list mark and outer white space, as `markdown.facts` tells it.
    """

    line: int
    text: str

    @property
    def plain(self) -> str:
        """What is compared: the words, however they are laid out."""
        return plain(self.text)


def placed(data: bytes) -> tuple[Fact, ...]:
    """The facts that a file states, in order."""
    lines = []
    line = 1
    for unit in markdown.parse(data).units:
        line += unit.gap.count(b"\n")
        if unit.kind in (UnitKind.ITEM, UnitKind.PARAGRAPH):
            lines.append(line)
        line += unit.text.count(b"\n") + 1
    return tuple(Fact(*pair) for pair in zip(lines, markdown.facts(data), strict=True))
