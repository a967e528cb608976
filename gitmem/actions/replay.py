"""Interrupted turns become ordinary messages (memory-format, section 2). No tool is ever run again.

The state before is committed first by the caller (a capture), so the raw checkpoint stays on the in-flight ref for inspection and
a replay can be reverted like any commit.
"""

import datetime as dt
from dataclasses import dataclass

from gitmem.core import checkpoint, session
from gitmem.core.describe.words import short_key
from gitmem.core.model import CommitInfo, File, Kind, Message, PathClass, Snapshot, TreePath
from gitmem.core.replay import Replay, replay
from gitmem.core.session_names import sidecar_of
from gitmem.edges import inflight, process, tip, transaction
from gitmem.edges.batch import holds_run_state
from gitmem.edges.opened import Opened

_STILL = 5.0
"""Seconds a file must be still even when the agent's process is not seen: it may run where we cannot look (a container)."""


@dataclass(frozen=True)
class Interrupted:
    """A session whose turn was interrupted.

    Attributes:
        path: The session file.
        key: Its key.
        phase: The phase of the turn, or `pending` when only the user's message is waiting.
        live: Why it is left alone for now; None when it may be replayed.
        replay: What replaying makes of it.
        sidecar: The checkpoint file beside it, where it has one.
    """

    path: TreePath
    key: str
    phase: str
    live: str | None
    replay: Replay
    sidecar: TreePath | None


def interrupted(opened: Opened, *, force: bool = False) -> list[Interrupted]:
    """Sessions on disk whose turn was interrupted.

    Args:
        opened: The workspace; everything on disk is committed.
        force: Take every checkpoint for interrupted, also that of an agent that may be running.
    """
    running = process.running((*opened.workspace.layout.processes, *opened.settings.agent_process))
    found = [
        _examine(opened, path, running=running, force=force)
        for path, _ in opened.walk()
        if opened.classify(path) is PathClass.SESSION
    ]
    return sorted((item for item in found if item is not None), key=lambda item: item.path)


def _examine(opened: Opened, path: TreePath, *, running: bool | None, force: bool) -> Interrupted | None:
    reading = opened.read(path)
    sidecar_path = sidecar_of(path)
    sidecar = opened.read(sidecar_path).file
    if reading.file is None or reading.signature is None:
        return None
    if sidecar is None and not holds_run_state(PathClass.SESSION, reading.file):
        return None
    now = opened.clock()
    result = replay(
        reading.file.data,
        now=dt.datetime.fromtimestamp(now).isoformat(),  # noqa: DTZ006  sessions hold naive local times
        sidecar=None if sidecar is None else sidecar.data,
        earlier=[file.data for file in inflight.earlier(opened, path if sidecar is None else sidecar_path)],
    )
    if result is None:
        return None
    parsed = session.parse(reading.file.data)
    state = checkpoint.run_state(parsed, None if sidecar is None else sidecar.data)
    age = now - reading.signature.mtime_ns / 1e9
    return Interrupted(
        path=path,
        key=parsed.key or path,
        phase=state.phase if state is not None else "pending",
        live=None if force else _live(age, opened.settings.checkpoint_grace, running=running),
        replay=result,
        sidecar=None if sidecar is None else sidecar_path,
    )


def _live(age: float, grace: float, *, running: bool | None) -> str | None:
    """Why a turn may still be going on; None when it is certainly over."""
    if age >= grace:
        return None
    if running is None:
        return f"written {age:.0f} s ago; taken for interrupted after {grace:.0f} s of stillness"
    if running:
        return "its agent is running and will replay it itself"
    return f"written {age:.0f} s ago" if age < _STILL else None


def perform(opened: Opened, item: Interrupted) -> CommitInfo | None:
    """Replay one interrupted turn: one commit, on disk and in history together.

    Returns:
        The commit; None when the branch had all of its messages and only run state was cleared.

    Raises:
        RepositoryBusy: The session was written meanwhile.
    """
    target = tip.current(opened)
    committed = opened.repo.file(target.base, item.path)
    mode = File(b"").mode if committed is None else committed.mode
    snapshot = Snapshot(_message(item), {item.path: File(checkpoint.strip(item.replay.session), mode)})
    remove = {}
    if item.sidecar is not None:
        file = opened.read(item.sidecar).file
        remove = {} if file is None else {item.sidecar: file}
    return transaction.apply(opened, snapshot, action="replay", ended=(item.path,), remove=remove)


def _message(item: Interrupted) -> Message:
    made = item.replay
    parts = [
        _count(made.assistants, "assistant"),
        _count(made.results, "tool result"),
        _count(made.interrupted, "interrupted call"),
    ]
    what = ", ".join(part for part in parts if part) or "run state cleared"
    body = [f"The turn stopped in phase {item.phase}. No tool was run again."]
    if made.set_aside:
        body.append(
            f"{len(made.set_aside)} results that no call declared were left out; the in-flight ref keeps them."
        )
    subject = f"replay({short_key(item.key)}): {what}"
    return Message(Kind.REPLAY, subject, tuple(body), (("Gitmem-Session", item.key),))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
