"""What agents do to sessions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gitmem.core import consolidation, session
from gitmem.core.checkpoint import CHECKPOINT, PROVIDER_STATE
from gitmem.core.conversation import Message, declared, is_stub, open_calls, stub
from gitmem.core.model import TreePath
from gitmem.core.session import Session
from simulate import queue
from simulate.facts import tokens
from simulate.machine import Machine

_NAMES = ("cli", "chat", "pulse")


def _pick(machine: Machine) -> TreePath:
    return f"sessions/{machine.random.choice(_NAMES)}.jsonl"


def turn(machine: Machine) -> None:
    """Somebody asks, the agent calls tools and answers; or an agent that was waiting for its tools goes on."""
    path = _pick(machine)
    if path in machine.calls:
        _go_on(machine, path)
        return
    found = machine.session(path)
    messages = [*found.messages, *_interrupted(machine, found)]
    messages += _question(machine)
    while machine.random.random() < 0.45:
        call = _call(machine)
        messages.append(call)
        if machine.random.random() < 0.12:
            machine.calls[path] = tuple(declared(call))
            break
        messages += (_result(machine, call, name) for name in declared(call))
    else:
        messages.append(_said(machine, "assistant", machine.token()))
    _save(machine, path, replace(found, messages=tuple(messages)))


def _save(machine: Machine, path: TreePath, found: Session) -> None:
    """Save a session, with the agent's private state where it is waiting."""
    state = {name: value for name, value in found.state.items() if name != CHECKPOINT}
    opaque: tuple[dict[str, Any], ...] = ()
    if path in machine.calls:
        state[CHECKPOINT] = {"machine": machine.number}
        opaque = ({"_type": PROVIDER_STATE, "state": machine.number},)
    elif machine.random.random() < 0.2:
        state["title"] = f"Title {machine.common.seconds}"
    machine.save(path, replace(found, metadata={**found.metadata, "metadata": state}, opaque=opaque))


def _question(machine: Machine) -> Iterator[Message]:
    yield _said(machine, "user", machine.token())
    if machine.random.random() < 0.1:
        yield _said(machine, "user", "go on")


def _said(machine: Machine, role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text, "timestamp": machine.now()}


def _call(machine: Machine) -> dict[str, Any]:
    said = _said(machine, "assistant", machine.token())
    names = [f"call_{machine.token().strip('~')}" for _ in range(machine.random.choice((1, 1, 2)))]
    calls = [
        {"id": name, "type": "function", "function": {"name": "run", "arguments": "{}"}} for name in names
    ]
    return {**said, "tool_calls": calls}


def _result(machine: Machine, call: Message, name: str) -> dict[str, Any]:
    token = machine.token()
    machine.common.oracle.calls[int(token.strip("~"))] = tokens(call["content"].encode())[0]
    return {**_said(machine, "tool", token), "tool_call_id": name, "name": "run"}


def _interrupted(machine: Machine, found: Session) -> Iterator[Message]:
    """What an agent puts in place of results that will not come."""
    for name in open_calls(found.messages):
        yield {**stub(name, "run"), "timestamp": machine.now()}


def _go_on(machine: Machine, path: TreePath) -> None:
    """The results of calls that were waiting arrive; where a merge has filled in that they will not, they take that place."""
    waiting = set(machine.calls.pop(path))
    found = machine.session(path)
    messages = list(found.messages)
    mark = found.last_consolidated
    places = [at for at, message in enumerate(messages) if waiting & set(declared(message))]
    if places:
        mark = _answer(machine, messages, places[0], mark)
    _save(machine, path, replace(found, messages=tuple(messages), last_consolidated=mark))


def _answer(machine: Machine, messages: list[Message], at: int, mark: int) -> int:
    """Answer the calls of a message; gives the archive mark, which moves along."""
    call, answered = messages[at], set()
    for place in range(at + 1, len(messages)):
        message = messages[place]
        if message.get("role") != "tool":
            break
        answered.add(message["tool_call_id"])
        if is_stub(message):
            messages[place] = _result(machine, call, message["tool_call_id"])
    missing = [name for name in declared(call) if name not in answered]
    end = at + 1 + len(answered)
    messages[end:end] = [_result(machine, call, name) for name in missing]
    return mark + len(missing) if mark > at else mark


def consolidate(machine: Machine) -> None:
    """Archive the older messages of a session, or all of them, and write the summary."""
    path = _pick(machine)
    if machine.read(path) is None:
        return
    found = machine.session(path)
    if open_calls(found.messages):
        return
    chunk = (
        consolidation.down_to_suffix(found, machine.random.randrange(8))
        if machine.random.random() < 0.7
        else consolidation.everything(found)
    )
    if chunk is None:
        return
    machine.save(path, consolidation.archived(found, chunk, "told", machine.now()))
    queue.append(machine)


def clear(machine: Machine) -> None:
    """`/new`."""
    path = _pick(machine)
    if machine.read(path) is not None:
        machine.calls.pop(path, None)
        _save(machine, path, replace(machine.session(path), messages=(), last_consolidated=0))


def trim(machine: Machine) -> None:
    """Drop the oldest messages: archived ones, or simply the oldest."""
    path = _pick(machine)
    if machine.read(path) is None or path in machine.calls:
        return
    found = machine.session(path)
    cut = consolidation.cut if machine.random.random() < 0.5 else session.trimmed
    machine.save(path, cut(found, max(2, len(found.messages) // 2)))


def forget(machine: Machine) -> None:
    """Remove a session's file."""
    path = _pick(machine)
    machine.calls.pop(path, None)
    machine.work.pop(path, None)
