"""An offline estimate of how many tokens a text is, kept near cl100k by the way that tokenizer cuts a text into pieces.

The pieces are cl100k's own (a word with the blank or mark before it, up to three digits, a run of marks, white space). What a
piece costs depends on what it is made of; the constants were fitted to other texts than those of the test (docs/tokens.md).
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

_PIECE = re.compile(
    r"'(?:[sdmtSDMT]|ll|ve|re)(?![^\W\d_])"
    r"|(?P<lead>[^\r\n\w]|_)?(?P<word>[^\W\d_]+)"
    r"|(?P<digits>\d{1,3})"
    r"|(?P<marks> ?(?:[^\w\s]|_)+[\r\n]*)"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SCRIPT = re.compile(
    r"(?P<latin>[A-Za-z]+)|(?P<accent>[\u00c0-\u024f])|(?P<han>[\u3400-\u9fff\uf900-\ufaff]+)|(?P<kana>[\u3040-\u30ff]+)"
    r"|(?P<hangul>[\uac00-\ud7af]+)|(?P<alphabet>[\u0370-\u058f]+)|(?P<other>.)",
    re.DOTALL,
)
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_REPEATED = re.compile(r"(.)\1*", re.DOTALL)

_DIGITS = 1.15
_LEAD = 0.35
"""A mark before a word, such as `.` or `(`: about one in three is a token of its own."""
_PER_CHARACTER = {"accent": 2.6, "han": 1.22, "kana": 1.08, "hangul": 1.3, "alphabet": 0.53, "other": 1.0}
_NEXT_HUMP = 1.6
_LONG = (0.12, 6)
_VERY_LONG = (0.1, 12)
"""Tokens for each letter of a part of a word beyond so many."""
_CAPITAL = 0.08
_MORE_MARKS = 0.12
_WIDE_MARK = 0.8
_RUN = 8
"""Equal marks in a row that make one more token."""

_PER_MESSAGE = 4
_PER_PICTURE = 800
"""Tokens of a picture or file in a message; providers count a few hundred to some thousand."""


def estimate(text: str) -> int:
    """How many tokens a text is, about: within 15% of cl100k for English, Chinese, code and the output of tools.

    Any text will do; linear in its length.
    """
    return round(sum(_cost(piece) for piece in _PIECE.finditer(text)))


def _cost(piece: re.Match[str]) -> float:
    word, marks = piece["word"], piece["marks"]
    if word is not None:
        lead = piece["lead"]
        return _word(word) + (_LEAD if lead and not lead.isspace() else 0.0)
    if piece["digits"] is not None:
        return _DIGITS
    return 1.0 if marks is None else _marks(marks.strip(" \r\n"))


@lru_cache(maxsize=4096)
def _word(word: str) -> float:
    if word.isascii():
        return 1.0 + _latin(word)
    cost = 0.0
    for place, part in enumerate(_SCRIPT.finditer(word)):
        if part.lastgroup == "latin":
            cost += _latin(part[0]) + (0.0 if place else 1.0)
        else:
            cost += len(part[0]) * _PER_CHARACTER[part.lastgroup or "other"]
    return cost


def _latin(word: str) -> float:
    """What letters cost beyond one token."""
    if len(word) <= _LONG[1] and word.islower():
        return 0.0
    humps = _HUMP.findall(word)
    cost = _NEXT_HUMP * (len(humps) - 1)
    for hump in humps:
        cost += sum(rate * max(0, len(hump) - free) for rate, free in (_LONG, _VERY_LONG))
        if hump.isupper():
            cost += _CAPITAL * max(0, len(hump) - 2)
    return cost


def _marks(marks: str) -> float:
    groups = len(_REPEATED.findall(marks))
    wide = sum(mark > "\x7f" for mark in marks)
    return 1.0 + _MORE_MARKS * max(0, groups - 1 + (len(marks) - groups) / _RUN) + _WIDE_MARK * wide


def estimate_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """How many tokens chat messages are, about. Messages of any shape count; pictures and files by a constant."""
    return sum(_message(message) for message in messages)


def _message(message: Mapping[str, Any]) -> int:
    texts = [
        message.get(name) for name in ("content", "name", "reasoning_content", "tool_calls", "tool_call_id")
    ]
    return _PER_MESSAGE + sum(_content(text) for text in texts)


def _content(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return estimate(value)
    if isinstance(value, list):
        return sum(_content(item) for item in value)
    if isinstance(value, Mapping):
        kind, text = value.get("type"), value.get("text")
        if isinstance(text, str):
            return estimate(text)
        if isinstance(kind, str) and kind not in ("function", "text"):
            return _PER_PICTURE
    return estimate(json.dumps(value, ensure_ascii=False, default=str))
