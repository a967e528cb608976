"""Run state of an agent inside its session files: take it out of what is committed, and put it back.

`runtime_checkpoint` and the pending-user-turn mark in a session's metadata, and `provider_state` records,
belong to the process that wrote them (memory-format section 2, merge.md section 0). On the main branch they
would be replayed on machines where nothing was interrupted. All edits here are textual: no other byte of a
file changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitmem.core import jsonl
from gitmem.core.session import Session, parse

CHECKPOINT = "runtime_checkpoint"
PENDING_MARKS = frozenset({"pending_user_turn", "_pending_user_turn"})
VOLATILE = frozenset({CHECKPOINT, *PENDING_MARKS})
"""Machine-local members of a session's inner metadata object."""
PROVIDER_STATE = "provider_state"
"""Type of the machine-local records: private state of a model provider, bound to the list of messages."""

_TYPED = b'"_type"'
_HINTS = tuple(name.encode() for name in (CHECKPOINT, "pending_user_turn", PROVIDER_STATE))
_TIME_HINTS = (b"updated_at",)


@dataclass(frozen=True, slots=True)
class RunState:
    """Where in a turn an agent is, or was when it stopped.

    Attributes:
        phase: Phase of the checkpoint; `pending_user_turn` where only the user's message is waiting.
        iteration: Number of the model call in the turn, from 0.
        pending: Tool calls that have no result yet.
        checkpoint: The checkpoint as the agent wrote it; None where there is only the mark.
    """

    phase: str
    iteration: int
    pending: int
    checkpoint: Mapping[str, Any] | None


def strip(data: bytes) -> bytes:
    """A session file as it belongs on the main branch: without machine-local fields and records.

    Every other byte stays, those of a torn last line too. Linear in the size; only lines that hold a `_type`
    are parsed.
    """
    if not any(hint in data for hint in _HINTS):
        return data
    stripped = _edited(data, _without_run_state, _HINTS)
    # a line that becomes the first may be readable only there (a byte order mark before it)
    return data if stripped == data else strip(stripped)


def has_run_state(data: bytes) -> bool:
    """Whether a session file, torn or not, holds anything machine-local."""
    return any(hint in data for hint in _HINTS) and _edited(data, _without_run_state, _HINTS) != data


def is_mid_turn(data: bytes) -> bool:
    """Whether a turn is under way or was interrupted, as a session file says it."""
    return run_state(parse(data)) is not None


def overlay(committed: bytes, live: bytes) -> bytes:
    """A committed version with the machine-local parts of the live file put back.

    Args:
        committed: The version to install, without machine-local parts.
        live: The file it replaces on the machine that owns those parts.

    Returns:
        `live` itself where it differs in nothing else. `provider_state` records come back only while the
        list of messages is the same, since they are bound to it.
    """
    if strip(live) == committed:
        return live
    mine, theirs = parse(live), parse(committed)
    fields = {name: value for name, value in mine.state.items() if name in VOLATILE}
    private = [jsonl.dump(record) for record in mine.opaque if record["_type"] == PROVIDER_STATE]
    if private and jsonl.canonical(mine.messages) != jsonl.canonical(theirs.messages):
        private = []
    return _with_run_state(committed, theirs, fields, private)


def differs_only_in_run_state(old: bytes, new: bytes) -> bool:
    """Whether two versions of a session differ in nothing but run state and `updated_at`."""
    before, after = strip(old), strip(new)
    if before == after:
        return True
    return _edited(before, _without_time, _TIME_HINTS) == _edited(after, _without_time, _TIME_HINTS)


def run_state(session: Session, sidecar: bytes | None = None) -> RunState | None:
    """The run state that a session file, or the sidecar beside it, holds; None where no turn is under way."""
    checkpoint = checkpoint_in_sidecar(sidecar, session.key) or checkpoint_in(session)
    if checkpoint is not None:
        phase, iteration = checkpoint.get("phase"), checkpoint.get("iteration")
        calls = checkpoint.get("pending_tool_calls")
        return RunState(
            phase=phase if isinstance(phase, str) else "unknown",
            iteration=iteration if isinstance(iteration, int) else 0,
            pending=len(calls) if isinstance(calls, list) else 0,
            checkpoint=checkpoint,
        )
    return RunState("pending_user_turn", 0, 0, None) if has_pending_mark(session) else None


def checkpoint_in(session: Session) -> Mapping[str, Any] | None:
    """The checkpoint in a session's metadata; None where it is missing or no object."""
    checkpoint = session.state.get(CHECKPOINT)
    return checkpoint if isinstance(checkpoint, dict) else None


def checkpoint_in_sidecar(sidecar: bytes | None, key: str | None) -> Mapping[str, Any] | None:
    """The checkpoint in a sidecar file; None where there is none, or it names another session."""
    holder = jsonl.decode(sidecar or b"") or {}
    checkpoint, owner = holder.get("checkpoint"), holder.get("session_key")
    if not isinstance(checkpoint, dict) or (key is not None and owner not in (None, key)):
        return None
    return checkpoint


def has_pending_mark(session: Session) -> bool:
    """Whether a user's message waits for its turn."""
    return any(session.state.get(name) for name in PENDING_MARKS)


def _with_run_state(data: bytes, session: Session, fields: Mapping[str, Any], private: list[bytes]) -> bytes:
    """Put fields into the last metadata line, and records behind it; without such a line one is made."""
    file = jsonl.parse(data)
    lines = list(file.lines)
    places = [place for place, line in enumerate(lines) if _kind(line) == "metadata"]
    at = places[-1] if places else 0
    record = {"_type": "metadata", **session.metadata, "metadata": {**session.state, **fields}}
    if not places:
        new = [jsonl.dump({**record, "last_consolidated": 0}), *private] if fields or private else []
        return b"".join(line + b"\n" for line in new) + data
    if fields and isinstance(session.metadata.get("metadata", {}), dict):
        lines[at] = replace(lines[at], raw=jsonl.rewrite(lines[at].raw, record))
    lines[at + 1 : at + 1] = [jsonl.Line(0, raw, None) for raw in private]
    return jsonl.join(lines, ended=file.ended)


def _kind(line: jsonl.Line) -> object:
    return line.value.get("_type") if line.value else None


def _without_run_state(line: jsonl.Line) -> bytes | None:
    kind = _kind(line)
    if kind == PROVIDER_STATE:
        return None
    return jsonl.without_members(line.raw, ("metadata",), VOLATILE) if kind == "metadata" else line.raw


def _without_time(line: jsonl.Line) -> bytes | None:
    return jsonl.without_members(line.raw, (), {"updated_at"}) if _kind(line) == "metadata" else line.raw


def _edited(data: bytes, edit: Callable[[jsonl.Line], bytes | None], hints: tuple[bytes, ...]) -> bytes:
    """Apply `edit` to every typed record with a hint in it; a line of which nothing is left goes with its LF."""
    parts: list[bytes] = []
    done = 0
    for start, end in _typed_lines(data):
        raw = data[start:end].removesuffix(b"\n")
        if not any(hint in raw for hint in hints):
            continue
        edited = [edit(line) for line in jsonl.lines_of(1 if not start else 2, raw)]
        kept = [text for text in edited if text is not None]
        parts.append(data[done:start])
        if kept:
            parts += (*kept, data[start + len(raw) : end])
        done = end
    parts.append(data[done:])
    return b"".join(parts)


def _typed_lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines with a `_type` start and end, their LF included."""
    found = data.find(_TYPED)
    while found >= 0:
        start = data.rfind(b"\n", 0, found) + 1
        end = data.find(b"\n", found) + 1 or len(data)
        yield start, end
        found = data.find(_TYPED, end)
