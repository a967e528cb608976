"""Generation numbers of commits, kept in a file: finding one anew takes a walk down to the first commit.

The file only grows, a line a commit. It is a convenience: without it the numbers are found again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.core.merge.ancestry import Graph
from gitmem.edges import durable
from gitmem.edges.repo import Repository

_LINE = 40


@contextmanager
def graph(repo: Repository) -> Iterator[Graph]:
    """The commit graph of a repository, with the numbers known so far; new ones are written down at the end."""
    path = repo.git.state / "generations"
    known = _read(path)
    found = Graph(lambda sha: repo.info(sha).parents, dict(known))
    yield found
    fresh = [f"{sha} {number}\n" for sha, number in found.numbers.items() if sha not in known]
    if fresh:
        durable.append(path, "".join(fresh).encode("ascii"), 0o600)


def _read(path: Path) -> dict[str, int]:
    """The numbers in the file; a line that a kill cut off says nothing."""
    try:
        text = path.read_text("ascii", "replace")
    except FileNotFoundError:
        return {}
    rows = (line.split(" ") for line in text.split("\n")[:-1])
    return {
        row[0]: int(row[1]) for row in rows if len(row) == 2 and len(row[0]) == _LINE and row[1].isdigit()
    }
