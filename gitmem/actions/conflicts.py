"""The records that merges leave where something could not be decided, and settling them by a commit (merge.md, section 2.4)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gitmem.core.merge.conflict import FOLDER
from gitmem.core.model import CommitInfo, Kind, Message, Snapshot, TreePath
from gitmem.edges import tip, transaction
from gitmem.edges.opened import Opened
from gitmem.errors import NotFound, UsageError


@dataclass(frozen=True)
class Listed:
    """One record.

    Attributes:
        id: Sixteen hex digits, the same on every machine.
        path: The file in question.
        kind: What happened.
        base: The text both sides started from; None where there was none.
        values: What the two sides made of it.
        copy: Where the losing version of a whole file is.
    """

    id: str
    path: TreePath
    kind: str
    base: str | None
    values: tuple[str, ...]
    copy: TreePath | None

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def listed(opened: Opened) -> list[Listed]:
    """What is not settled yet, by path."""
    files = opened.repo.files(tip.current(opened).base)
    found = []
    for path, entry in files.items():
        name = path.removeprefix(f"{FOLDER}/")
        if name != path and "/" not in name and name.endswith(".json"):
            found.append(_read(name.removesuffix(".json"), opened.repo.read(entry).data))
    return sorted(found, key=lambda item: (item.path, item.id))


def _read(name: str, data: bytes) -> Listed:
    """A record; one that cannot be read is listed all the same."""
    try:
        fields = json.loads(data)
        base, copy = fields.get("base"), fields.get("copy")
        return Listed(
            name, str(fields["path"]), str(fields["kind"]), base, tuple(map(str, fields["values"])), copy
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return Listed(
            name, f"{FOLDER}/{name}.json", "unreadable", None, (data.decode("utf-8", "replace"),), None
        )


def chosen(found: Sequence[Listed], name: str) -> Listed:
    """The record whose id begins so.

    Raises:
        NotFound: There is none.
        UsageError: There are several.
    """
    matching = [item for item in found if item.id.startswith(name)]
    if not matching:
        raise NotFound(f"there is no conflict {name}", "See them all: gitmem conflicts")
    if len(matching) > 1:
        raise UsageError(f"{name} means {len(matching)} conflicts", "Give more of its characters.")
    return matching[0]


def settle(opened: Opened, items: Sequence[Listed], commit_all: Callable[[], None]) -> CommitInfo | None:
    """Take conflicts off the list, on every machine that syncs; None when nothing is listed."""
    if not items:
        return None
    paths = sorted({item.path for item in items})
    named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    message = Message(
        Kind.CONFLICT, f"conflict: settled in {named}", tuple(f"{item.id} {item.path}" for item in items)
    )
    snapshot = Snapshot(message, {f"{FOLDER}/{item.id}.json": None for item in items})
    return transaction.carry_out(opened, commit_all, lambda: snapshot, action="conflict")
