"""A session that somebody changed while somebody else saved another version of it.

Messages and metadata merge as two machines' do (merge.md, section 2.1). Run state is of this machine, and is not merged: the side
that changed it keeps it.
"""

from gitmem.core import checkpoint, jsonl
from gitmem.core.merge.session import merge_session
from gitmem.core.session import Session, parse


def combined(path: str, base: bytes, disk: bytes, mine: bytes) -> bytes | None:
    """One session file of two that were made of the same one.

    Args:
        path: Names the session in what a merge reports.
        base: The file that both were made of.
        disk: What is saved now.
        mine: What is to be saved.

    Returns:
        The file with what both sides said; None where they changed the same thing differently, or where `disk` is the half of a
        file that its writer is in the middle of.
    """
    known, saved, made = parse(base), parse(disk), parse(mine)
    if saved.torn or not disk.strip():
        return None
    live = _live((base, known), (disk, saved), (mine, made))
    merged, conflicts = merge_session(path, base, disk, mine)
    if live is None or merged is None or conflicts:
        return None
    return checkpoint.overlay(merged, live)


def _live(
    base: tuple[bytes, Session], disk: tuple[bytes, Session], mine: tuple[bytes, Session]
) -> bytes | None:
    """The version whose run state is the newer one; None where both sides changed it."""
    before, saved, made = (_run_state(session) for _, session in (base, disk, mine))
    if made in (before, saved):
        return disk[0]
    return mine[0] if saved == before else None


def _run_state(session: Session) -> bytes:
    fields = {name: value for name, value in session.state.items() if name in checkpoint.VOLATILE}
    records = [record for record in session.opaque if record["_type"] == checkpoint.PROVIDER_STATE]
    return jsonl.canonical([fields, records])
