"""The steps of an interrupted turn, read from its checkpoint and from those that older versions held.

A step is an assistant message and one result for each call it declares. A checkpoint holds the last step
only; every agent seen forgets the ones before it, but the versions kept in flight still have them
(memory-format, section 2.6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.core import jsonl
from gitmem.core.checkpoint import checkpoint_in
from gitmem.core.conversation import Message, declared, results_by_call, stub
from gitmem.core.session import Session, parse

_COMPARED = (
    "role",
    "content",
    "tool_call_id",
    "name",
    "tool_calls",
    "reasoning_content",
    "thinking_blocks",
)


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration of a turn.

    Attributes:
        iteration: Number of the model call in the turn; None where the checkpoint does not say.
        head: The assistant message.
        results: Exactly one result for each call that it declares.
        set_aside: Results left out, as JSON: no call declared them, or the call has another one.
    """

    iteration: int | None
    head: Message
    results: tuple[Message, ...]
    set_aside: tuple[str, ...] = ()


def same_message(one: Message | None, other: Message | None) -> bool:
    """Whether one message is a copy of the other: agents add times and counts when they store."""
    if one is None or other is None:
        return False
    return _essence(one) == _essence(other)


def step_of(checkpoint: Mapping[str, Any]) -> Step | None:
    """The step that a checkpoint holds, whatever is wrong with its lists; None without an assistant message.

    Returns:
        Completed results come first, then an interrupted one for each call that is pending, then for each
        call that is listed nowhere (case B10).
    """
    message = checkpoint.get("assistant_message")
    if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
        return None
    head = {"role": "assistant", **message}
    calls = declared(head)
    completed, odd = _completed(checkpoint.get("completed_tool_results"))
    best = results_by_call(head, completed)
    order = dict.fromkeys([*best, *_ids(checkpoint.get("pending_tool_calls")), *calls])
    iteration = checkpoint.get("iteration")
    others = [result for result in completed if not any(result == chosen for chosen in best.values())]
    return Step(
        iteration=iteration if isinstance(iteration, int) else None,
        head=head,
        results=tuple(best.get(name) or stub(name, calls[name]) for name in order if name in calls),
        set_aside=tuple(jsonl.dump(item).decode() for item in (*others, *odd)),
    )


def steps_of_turn(
    data: bytes, sidecar: bytes | None, last: Step, earlier: Sequence[bytes]
) -> tuple[Step, ...]:
    """All steps of the turn that `last` ends, oldest first.

    Args:
        data: The session file now.
        sidecar: The checkpoint file beside it, when `last` comes from there.
        last: The step of the checkpoint.
        earlier: Older versions of the file (or of the sidecar), oldest first; read backwards to the turn's
            start.
    """
    turn = _turn_of_sidecar(sidecar) or _turn_of_session(parse(data))
    found = [last]
    for version in reversed(earlier):
        its_turn, checkpoint = _read(version, data, turn)
        if its_turn != turn:
            break
        step = step_of(checkpoint) if checkpoint is not None else None
        if step is None:
            continue
        first = found[-1]
        if step.iteration == first.iteration and same_message(step.head, first.head):
            found[-1] = _merged(step, first)
        elif step.iteration is None or first.iteration is None or step.iteration < first.iteration:
            found.append(step)
        elif step.iteration > first.iteration:
            break  # an earlier attempt at the same turn
    return tuple(reversed(found))


def _essence(message: Message) -> bytes:
    return jsonl.canonical([message.get(name) for name in _COMPARED])


def _completed(listed: object) -> tuple[list[Message], list[object]]:
    """Tool messages, and whatever else stands in their place."""
    results: list[Message] = []
    odd: list[object] = []
    for item in listed if isinstance(listed, list) else [listed] if listed else []:
        if isinstance(item, dict) and item.get("role", "tool") == "tool" and "tool_call_id" in item:
            results.append({"role": "tool", **item})
        else:
            odd.append(item)
    return results, odd


def _ids(calls: object) -> Iterable[str]:
    """Ids in a list of pending calls, also where only the ids are listed."""
    for call in calls if isinstance(calls, list) else ():
        name = call.get("id") if isinstance(call, dict) else call
        if isinstance(name, str):
            yield name


def _merged(older: Step, newer: Step) -> Step:
    """Two phases of the same step: what one of them knows is known."""
    best = results_by_call(newer.head, (*newer.results, *older.results))
    results = tuple(best[result["tool_call_id"]] for result in newer.results)
    return Step(newer.iteration, newer.head, results, newer.set_aside)


_Turn = tuple[object, ...]


def _turn_of_session(session: Session) -> _Turn:
    """What stays the same while a turn runs: the list up to its user message."""
    users = [place for place, message in enumerate(session.messages) if message.get("role") == "user"]
    return ("session", users[-1], jsonl.identity(session.messages[users[-1]])) if users else ("session",)


def _turn_of_sidecar(sidecar: bytes | None) -> _Turn | None:
    holder = jsonl.decode(sidecar) if sidecar is not None else None
    if holder is None or not isinstance(holder.get("checkpoint"), dict):
        return None
    return ("sidecar", holder.get("base_message_count"), holder.get("base_updated_at"))


def _read(version: bytes, data: bytes, turn: _Turn) -> tuple[_Turn, Mapping[str, Any] | None]:
    """The turn and the checkpoint of an older version; parses only metadata where the rest is the same."""
    sidecar_turn = _turn_of_sidecar(version) if turn[0] == "sidecar" else None
    if sidecar_turn is not None:
        return sidecar_turn, (jsonl.decode(version) or {})["checkpoint"]
    head, _, body = version.partition(b"\n")
    if body == data.partition(b"\n")[2]:
        return turn, checkpoint_in(parse(head))
    session = parse(version)
    return _turn_of_session(session), checkpoint_in(session)
