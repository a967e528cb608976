"""Where a fact of long-term memory came from: the trailers of a Dream that name its source entries (gitstore, section 4).

A trailer is `Gitmem-Source: memory/MEMORY.md:1f3a9c0b2d4e <- 14,16`: the file, a short hash of the fact, the cursors of the
history entries it was made of.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from gitmem.core.model import TreePath

TOKEN = "Gitmem-Source"  # noqa: S105  the name of a trailer
_VALUE = re.compile(r"(.+):([0-9a-f]{12}) <- ([0-9]{1,18}(?:,[0-9]{1,18})*)")
_LIST_MARK = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")


def plain(fact: str) -> str:
    """A fact without its list mark, with single blanks: what stays the same when somebody reformats the file."""
    return " ".join(_LIST_MARK.sub("", fact, count=1).split())


def fact_hash(fact: str) -> str:
    """Twelve hex digits that tell a fact from the others of its file."""
    return hashlib.sha256(plain(fact).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def source_trailer(path: TreePath, fact: str, cursors: Iterable[int]) -> tuple[str, str]:
    """The trailer that says which history entries a fact was made of."""
    return TOKEN, f"{path}:{fact_hash(fact)} <- {','.join(str(cursor) for cursor in sorted(set(cursors)))}"


def sources(trailers: Mapping[str, Sequence[str]]) -> dict[tuple[TreePath, str], tuple[int, ...]]:
    """The source cursors a commit names, by file and fact hash; lines that do not read as such are passed over."""
    found = {}
    for value in trailers.get(TOKEN, ()):
        if match := _VALUE.fullmatch(value):
            found[match[1], match[2]] = tuple(int(cursor) for cursor in match[3].split(","))
    return found
