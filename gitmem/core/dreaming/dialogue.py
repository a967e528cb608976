"""The exchange with a model that ends in a draft, or in a failed run: it proposes, is told what was refused, and may try again.

Bounded in every direction: answers, rounds of refusals, edits, and answers that repeat what was said before (cases B05, B81,
B88).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitmem.core.completion import Answer, ToolCall
from gitmem.core.dreaming import draft as drafts
from gitmem.core.dreaming import instructions
from gitmem.core.dreaming.batch import Batch
from gitmem.core.dreaming.draft import Draft
from gitmem.core.dreaming.proposal import MOST_EDITS, READ_SKILL, TOOL, Refusal, Refused, proposed, read_edit
from gitmem.core.jsonl import canonical
from gitmem.core.jsontext import JsonObject
from gitmem.core.transcript import quoted
from gitmem.errors import DreamFailed

ROUNDS = 3
"""Proposals in which something may be refused (memory-engine, section 3)."""
MOST_ANSWERS = 8
"""Answers of one run, those included in which the model only reads skills or says nothing useful."""
_NOTHING = re.compile(
    r"(?!.*\b(?:cannot|can.t|could(?: not|n.t)|unable|sorry|because of an error|tools?\b.{0,20}\b(?:failed|available))\b)"
    r"\W*(?:nothing|none|no\W+(?:\w+\W+){0,2}(?:edits?|changes?|updates?|facts?))\b.{0,200}",
    re.IGNORECASE | re.DOTALL,
)
"""Says in words that no edit is needed; not that none can be made, which would take entries for dealt with."""

Ask = Callable[[Sequence[Mapping[str, Any]]], Answer]


def converse(
    ask: Ask, question: Sequence[Mapping[str, Any]], draft: Draft, batch: Batch, skills: Mapping[str, str]
) -> Draft:
    """Let a model propose until all of it is sound.

    Args:
        ask: Gives the answer to a list of messages.
        question: The messages that begin the run.
        draft: The memory as it is.
        batch: The entries that may be cited.
        skills: Texts of the skills there are, by name.

    Returns:
        The draft with the edits; without any when the model says that nothing is worth keeping.

    Raises:
        DreamFailed: It went on for too long, repeated itself, or proposed nothing sound. Nothing is to be changed.
    """
    messages = list(question)
    said: set[bytes] = set()
    rounds = 0
    for _ in range(MOST_ANSWERS):
        answer = ask(messages)
        edits = proposed(answer)
        if edits is None and not answer.calls and _NOTHING.fullmatch(answer.text):
            return draft
        _check_new(said, answer)
        if edits is None:
            messages += _replies(answer, instructions.NO_PROPOSAL, skills)
            continue
        before = len(draft.changes)
        draft, refusals = _applied(draft, edits, batch)
        if not refusals:
            return draft
        rounds += 1
        if rounds == ROUNDS:
            raise DreamFailed(
                "refused", f"edits were refused {ROUNDS} times, the last one because: {refusals[-1].why}"
            )
        told = instructions.refused(refusals, len(draft.changes) - before)
        messages += _replies(answer, told)
    raise DreamFailed("endless", f"the model gave {MOST_ANSWERS} answers without a sound proposal")


def _check_new(said: set[bytes], answer: Answer) -> None:
    """An answer that was given before will be given again."""
    what = canonical([answer.text, [[call.name, call.arguments] for call in answer.calls]])
    if what in said:
        raise DreamFailed("loop", "the model repeats itself")
    said.add(what)


def _applied(draft: Draft, edits: Sequence[JsonObject], batch: Batch) -> tuple[Draft, list[Refusal]]:
    if len(draft.changes) + len(edits) > MOST_EDITS:
        number = len(draft.changes) + len(edits)
        raise DreamFailed("too-much", f"the model proposed {number} edits; {MOST_EDITS} are the most")
    refusals: list[Refusal] = []
    for number, values in enumerate(edits, 1):
        edit = read_edit(number, values)
        if isinstance(edit, Refusal):
            refusals.append(edit)
            continue
        try:
            draft = drafts.apply(draft, edit, batch)
        except Refused as refusal:
            refusals.append(Refusal(number, str(refusal)))
    return draft, refusals


def _told(call: ToolCall, skills: Mapping[str, str] | None, otherwise: str) -> str:
    """What a call gets for an answer."""
    if skills is None or call.name == TOOL:
        return otherwise
    if call.name != READ_SKILL:
        return instructions.UNKNOWN_TOOL
    name = (call.arguments or {}).get("name")
    text = skills.get(name) if isinstance(name, str) else None
    return "There is no such skill." if text is None else quoted(text, "skill")


def _replies(answer: Answer, text: str, skills: Mapping[str, str] | None = None) -> list[Mapping[str, Any]]:
    """The answer and what is said to it: a result for each call, or a message where there are none.

    Args:
        answer: The answer.
        text: What is said.
        skills: Skills that its calls may read; None where one of its calls was a proposal, and the text is about that.
    """
    if not answer.calls:
        return [answer.message, {"role": "user", "content": text}]
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": _told(call, skills, text)}
        for call in answer.calls
    ]
    return [answer.message, *results]
