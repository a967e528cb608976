"""An interrupted turn becomes ordinary messages (memory-format, section 2). No tool is ever run again.

The steps of the turn are woven into what the agent had already stored of it, so that a replay adds only
what is missing, and a second one adds nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from gitmem.core import jsonl
from gitmem.core.checkpoint import (
    PENDING_MARKS,
    PROVIDER_STATE,
    VOLATILE,
    checkpoint_in,
    checkpoint_in_sidecar,
    has_pending_mark,
)
from gitmem.core.conversation import Block, Message, blocks, declared, is_stub, results_by_call, stub
from gitmem.core.session import Session, parse, render
from gitmem.core.steps import Step, same_message, step_of, steps_of_turn

NO_RESPONSE = "Error: Task interrupted before a response was generated."
"""Answer to a user whose turn was cut off before the model said anything; nanobot writes the same."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay makes of a session file.

    Attributes:
        session: The new content of the file.
        assistants: Assistant messages added.
        results: Real tool results added.
        interrupted: Calls that got an interrupted result.
        set_aside: Results left out, as JSON: no call declared them, or the call has another one.
    """

    session: bytes
    assistants: int = 0
    results: int = 0
    interrupted: int = 0
    set_aside: tuple[str, ...] = ()


def replay(
    data: bytes, *, now: str, sidecar: bytes | None = None, earlier: Sequence[bytes] = ()
) -> Replay | None:
    """Turn an interrupted turn into messages.

    Args:
        data: The session file.
        now: The time for messages that have none, in the ISO form of session files.
        sidecar: The checkpoint file beside it, where the agent keeps the checkpoint there.
        earlier: Older versions of the file (or of the sidecar) kept in flight, oldest first; those of other
            turns are left out.

    Returns:
        The new file, or None when there is nothing to replay. A checkpoint without an assistant message
        cannot be replayed; it stays in the file for inspection (case B10).
    """
    session = parse(data)
    beside = checkpoint_in_sidecar(sidecar, session.key)
    for checkpoint in (beside, checkpoint_in(session)):
        last = step_of(checkpoint) if checkpoint is not None else None
        if last is not None:
            source = sidecar if checkpoint is beside else None
            steps = steps_of_turn(data, source, last, earlier)
            return _replayed(session, () if _was_saved(session, source, last) else steps, now)
    if not has_pending_mark(session):
        return None
    waits = session.messages[-1:] and session.messages[-1].get("role") == "user"
    answer = ({"role": "assistant", "content": NO_RESPONSE, "timestamp": now},) if waits else ()
    new = _rewritten(session, (*session.messages, *answer), PENDING_MARKS, now)
    return Replay(new, assistants=len(answer))


def _replayed(session: Session, steps: Sequence[Step], now: str) -> Replay:
    turn_start = _turn_start(session.messages)
    stored = session.messages[turn_start:]
    known = {id(message) for message in stored}
    woven = [
        message if id(message) in known or "timestamp" in message else {**message, "timestamp": now}
        for message in _weave(blocks(stored), steps)
    ]
    added = [message for message in woven if id(message) not in known]
    tools = [message for message in added if message["role"] == "tool"]
    interrupted = sum(map(is_stub, tools))
    return Replay(
        session=_rewritten(session, (*session.messages[:turn_start], *woven), VOLATILE, now),
        assistants=len(added) - len(tools),
        results=len(tools) - interrupted,
        interrupted=interrupted,
        set_aside=tuple(dict.fromkeys(text for step in steps for text in step.set_aside)),
    )


def _rewritten(session: Session, messages: tuple[Message, ...], drop: Collection[str], now: str) -> bytes:
    state = {name: value for name, value in session.state.items() if name not in drop}
    same_messages = list(map(id, messages)) == list(map(id, session.messages))
    if same_messages and len(state) == len(session.state):
        return render(session)
    metadata = dict(session.metadata)
    if session.state:
        metadata["metadata"] = state
    if isinstance(metadata.get("updated_at"), str):
        metadata["updated_at"] = now
    opaque = tuple(record for record in session.opaque if same_messages or record["_type"] != PROVIDER_STATE)
    return render(replace(session, metadata=metadata, messages=messages, opaque=opaque))


def _turn_start(messages: Sequence[Message]) -> int:
    """Where the assistant and tool messages at the end begin; what lies before belongs to other turns."""
    start = len(messages)
    while start and messages[start - 1].get("role") in ("assistant", "tool"):
        start -= 1
    return start


def _was_saved(session: Session, sidecar: bytes | None, last: Step) -> bool:
    """Whether a sidecar was only left over: its turn was saved and others followed it."""
    base = (jsonl.decode(sidecar or b"") or {}).get("base_message_count")
    if not isinstance(base, int) or base < 0:
        return False
    since = session.messages[base : _turn_start(session.messages)]
    return any(same_message(message, last.head) for message in since)


def _weave(stored: Sequence[Block], steps: Sequence[Step]) -> list[Message]:
    """The messages of a turn: the stored ones, and each missing step before the next stored one."""
    places = _places(stored, steps)
    missing: dict[int, list[Block]] = {}
    at = len(stored)
    for number in reversed(range(len(steps))):
        at = places.get(number, at)
        if number not in places:
            missing.setdefault(at, []).insert(0, Block(steps[number].head, steps[number].results))
    results = {place: steps[number].results for number, place in places.items()}
    woven: list[Block] = []
    for place, block in enumerate(stored):
        woven += missing.get(place, ())
        woven.append(_completed(block, results.get(place, ())) if steps else block)
    woven += missing.get(len(stored), ())
    return [message for block in woven for message in (block.head, *block.results) if message is not None]


def _places(stored: Sequence[Block], steps: Sequence[Step]) -> dict[int, int]:
    """Which step is stored where. Backwards from the end; only steps with calls may be found further up.

    Equal texts are no proof: a user who asks twice gets two answers (cases B10 ck16, B25).
    """
    places: dict[int, int] = {}
    end = len(stored)
    for number in reversed(range(len(steps))):
        head = steps[number].head
        lowest = 0 if declared(head) else max(0, end - 1)
        for place in reversed(range(lowest, end)):
            if same_message(stored[place].head, head):
                places[number] = end = place
                break
    return places


def _completed(block: Block, results: Iterable[Message]) -> Block:
    """A stored step with one result for every call; what is stored stays unless it is a stub."""
    results = tuple(results)
    calls = declared(block.head)
    best = results_by_call(block.head, (*block.results, *results))
    kept = [best.get(_call_id(known), known) if is_stub(known) else known for known in block.results]
    have = {_call_id(known) for known in block.results}
    order = dict.fromkeys([*map(_call_id, results), *calls])
    new = [best.get(name) or stub(name, calls[name]) for name in order if name in calls and name not in have]
    return Block(block.head, (*kept, *new))


def _call_id(result: Message) -> str:
    call_id = result.get("tool_call_id")
    return call_id if isinstance(call_id, str) else ""
