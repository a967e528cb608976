"""What happens to other files, and what people do with gitmem."""

import json

from gitmem.core.merge.inverse import inverse
from gitmem.core.merge.tree import applied
from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, TreePath
from simulate.machine import Machine
from simulate.store import Commit, classify

_TEXT, _BINARY, _JSON, _LINES = (
    "notes/log.txt",
    "media/picture.bin",
    "prompts/settings.json",
    "memory/log.jsonl",
)
_LINK = "media/link.png"
_RECORDS = ".gitmem/conflicts/"


def write(machine: Machine) -> None:
    """Text grows, a picture or a setting is replaced, a log of records gets one more."""
    path = machine.random.choice((_TEXT, _BINARY, _JSON, _LINES))
    machine.write(path, _written(machine, path, machine.read(path) or b""))


def _written(machine: Machine, path: TreePath, before: bytes) -> bytes:
    line = json.dumps({"x": machine.token()}).encode() + b"\n"
    if path == _TEXT:
        return (before or b"1\n2\n3\n4\n") + line
    if path == _LINES:
        return before + line
    return b"\0" + line if path == _BINARY else line


def chmod(machine: Machine) -> None:
    """Make a file executable, or not."""
    path = machine.random.choice((_TEXT, _BINARY, "SOUL.md"))
    file = machine.work.get(path)
    if file is not None:
        machine.write(path, file.data, MODE_FILE if file.mode == MODE_EXECUTABLE else MODE_EXECUTABLE)


def remove(machine: Machine) -> None:
    """Remove a file."""
    machine.work.pop(machine.random.choice((_TEXT, _BINARY, _JSON, _LINK)), None)


def link(machine: Machine) -> None:
    """Let a link lead elsewhere, or a file stand where it was."""
    if machine.random.random() < 0.8:
        machine.write(_LINK, b"%d.png" % machine.random.randrange(3), MODE_SYMLINK)
    else:
        machine.write(_LINK, b"\0%d" % machine.random.randrange(3), MODE_FILE)


def revert(machine: Machine) -> None:
    """Take back one of the last commits, as `gitmem revert` does; nothing where that says it cannot be done."""
    machine.commit()
    commit = machine.head
    for _ in range(machine.random.randrange(4)):
        commit = _parent(machine, commit) or commit
    parent = _parent(machine, commit)
    if commit is None or parent is None or commit.automatic:
        return
    old, new = parent.tree, commit.tree
    paths = {path for path in (*old, *new) if old.get(path) != new.get(path)}
    before, after, now = (
        {path: tree[path] for path in paths if path in tree} for tree in (old, new, machine.work)
    )
    undone = inverse(classify, before=before, commit=after, now=now)
    if not undone.conflicts:
        machine.work = applied(machine.work, undone.files)
        machine.commit()


def _parent(machine: Machine, commit: Commit | None) -> Commit | None:
    if commit is None or not commit.info.parents:
        return None
    return machine.common.store[commit.info.parents[0]]


def resolve(machine: Machine) -> None:
    """Settle a conflict: its record goes."""
    records = sorted(path for path in machine.work if path.startswith(_RECORDS) and path.endswith(".json"))
    records = [path for path in records if "/files/" not in path]
    if records:
        del machine.work[machine.random.choice(records)]
