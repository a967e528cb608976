"""Three versions of a session become one, message by message (merge.md, section 2.1).

Any bytes can be merged: a line that cannot be read is kept or dropped like a message, and counts as none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitmem.core import session
from gitmem.core.checkpoint import PROVIDER_STATE
from gitmem.core.merge.atoms import Atom, AtomKey, are_one, atoms, completed, fold
from gitmem.core.merge.conflict import Conflict, ConflictKind, conflict, digest
from gitmem.core.merge.metadata import Head, finished, head_of, merge_heads
from gitmem.core.merge.order import merge_order
from gitmem.core.merge.records import Reader, Record, joined, merge_items
from gitmem.core.merge.rules import pick_flag, survivors
from gitmem.core.model import TreePath


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of a session, cut up; all empty where the file does not exist."""

    head: Head = field(default_factory=Head)
    opaque: tuple[Record, ...] = ()
    atoms: Mapping[AtomKey, Atom] = field(default_factory=dict)


def merge_session(
    path: TreePath, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> tuple[bytes | None, tuple[Conflict, ...]]:
    """Merge a session that both sides changed; None is a missing file.

    Returns:
        The merged file and what could not be decided. None where one side removed the session and the other said nothing new.
        Run state is dropped: it belongs to the machine that wrote it.
    """
    reader = Reader()
    known: dict[bytes, str] = {}
    before, mine, other = _split(*(_read(reader, known, data) for data in (base, ours, theirs)))
    keep = survivors(before.atoms, mine.atoms, other.atoms)
    removed = ours is None or theirs is None
    if removed and not keep - before.atoms.keys():
        return None, ()
    merged = _merged_atoms(keep, before, mine, other)
    written = _written(_in_order(merged, before, mine, other))
    head, conflicts = merge_heads(before.head, mine.head, other.head, path)
    if removed:
        head = mine.head if theirs is None else other.head
        conflicts = (_removal(path, base, ours or theirs),)
    line = finished(head, sum(atom.count for atom in written if atom.archived))
    metadata = b"" if line is None else line + b"\n"
    return metadata + joined(_opaque(before, mine, other, written)) + joined(_messages(written)), conflicts


def _removal(path: TreePath, base: bytes | None, left: bytes | None) -> Conflict:
    """One side removed the session, the other one went on with it."""
    values = (b"", digest(left or b"").encode())
    return conflict(path, ConflictKind.DELETE, digest(base or b"").encode(), values)


def _read(reader: Reader, known: dict[bytes, str], data: bytes | None) -> _Version:
    if data is None:
        return _Version()
    parsed = session.parse(data)
    heads: list[bytes] = []
    opaque: list[Record] = []
    records: list[Record] = []
    for record in reader.records(parsed.origin.lines):
        match record.value.get("_type"):
            case session.METADATA:
                heads.append(record.raw)
            case None:
                records.append(record)
            case _:
                opaque.append(record)
    return _Version(head_of(heads), tuple(opaque), atoms(records, parsed.last_consolidated, known))


def _split(base: _Version, ours: _Version, theirs: _Version) -> tuple[_Version, _Version, _Version]:
    """Tell atoms apart that make equal calls but are different turns: some providers count their calls from 0 each time."""
    apart = {
        key
        for key, atom in ours.atoms.items()
        if atom.calls and key in theirs.atoms and not are_one(base.atoms.get(key), atom, theirs.atoms[key])
    }
    return base, _renamed(ours, apart), _renamed(theirs, apart)


def _renamed(version: _Version, keys: set[AtomKey]) -> _Version:
    if not keys:
        return version
    renamed = {(_own_name(key, atom) if key in keys else key): atom for key, atom in version.atoms.items()}
    return replace(version, atoms=renamed)


def _own_name(key: AtomKey, atom: Atom) -> AtomKey:
    return f"{key[0]}:{'+'.join(record.identity for record in atom.records)}", key[1]


def _merged_atoms(
    keep: set[AtomKey], base: _Version, ours: _Version, theirs: _Version
) -> dict[AtomKey, Atom]:
    merged: dict[AtomKey, Atom] = {}
    for key in keep:
        if key not in ours.atoms or key not in theirs.atoms:
            merged[key] = ours.atoms[key] if key in ours.atoms else theirs.atoms[key]
            continue
        before, mine, other = base.atoms.get(key), ours.atoms[key], theirs.atoms[key]
        archived = pick_flag(before is not None and before.archived, mine.archived, other.archived)
        atom = mine if mine.spelled == other.spelled else fold(before, mine, other)
        merged[key] = atom if atom.archived == archived else replace(atom, archived=archived)
    return merged


def _in_order(merged: Mapping[AtomKey, Atom], base: _Version, ours: _Version, theirs: _Version) -> list[Atom]:
    """Archived atoms first, so that the mark says of every atom what was decided; in each part the merged order."""

    def rank(key: AtomKey) -> tuple[str, AtomKey]:
        return str(merged[key].head.value.get("timestamp") or ""), key

    def starts(key: AtomKey) -> bool:
        return merged[key].head.value.get("role") == "user"

    def part(*, archived: bool) -> list[AtomKey]:
        keys = {key for key, atom in merged.items() if atom.archived == archived}
        return merge_order(keys, (list(base.atoms), list(ours.atoms), list(theirs.atoms)), rank, starts)

    return [merged[key] for key in (*part(archived=True), *part(archived=False))]


def _written(order: Sequence[Atom]) -> list[Atom]:
    """The atoms as they are written: every call but the last atom's has its result."""
    return [completed(atom) for atom in order[:-1]] + list(order[-1:])


def _opaque(base: _Version, ours: _Version, theirs: _Version, written: Sequence[Atom]) -> list[Record]:
    """Records of types we do not know, by R1. A provider's state is bound to an exact list of messages: it stays with that."""
    messages = _messages(written)
    bound = [_bound(side) for side in (ours, theirs) if _messages(side.atoms.values()) == messages]
    states = min(
        (found for found in bound if found), key=lambda found: [record.raw for record in found], default=[]
    )
    return states + merge_items(_unbound(base), _unbound(ours), _unbound(theirs))


def _bound(version: _Version) -> list[Record]:
    return [record for record in version.opaque if record.value.get("_type") == PROVIDER_STATE]


def _unbound(version: _Version) -> list[Record]:
    return [record for record in version.opaque if record.value.get("_type") != PROVIDER_STATE]


def _messages(found: Iterable[Atom]) -> list[Record]:
    return [record for atom in found for record in atom.records]
