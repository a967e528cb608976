"""Editing one JSON object as text, so that every byte nobody asked to change stays as its writer wrote it.

Parsing and dumping a record keeps its values but not its spelling: `1e-7` becomes `1e-07`, spacing and
escapes change, a member given twice becomes one. Unknown fields of other programs survive digit for digit
(case B69).
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(rb"[^ \t\r\n,\]}]++")


@dataclass(frozen=True, slots=True)
class Member:
    """One `"name": value` of an object; positions are byte offsets into the text it was found in."""

    name: str
    start: int
    value_start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """An object in a text: the offset just behind its `{`, and its members in order."""

    inside: int
    members: tuple[Member, ...]


def dump(value: object) -> bytes:
    """A value as the agents write it: default separators, text unescaped, a lone surrogate as an escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def canonical(value: object) -> bytes:
    """A spelling that is the same for equal values, whatever the order of their members."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def members(raw: bytes) -> tuple[Member, ...]:
    """The members of the first object in a text, in order, repeated names included.

    Raises:
        ValueError: The text holds no well-formed object.
    """
    return _object(raw, 0).members


def without_members(raw: bytes, path: tuple[str, ...], names: Collection[str]) -> bytes:
    """A JSON object without some members of the object at `path` inside it.

    Args:
        raw: The text of one object; bytes before its `{` and behind its `}` are kept.
        path: Names leading from the outer object to the one to edit; empty for the outer one itself.
        names: Members to remove, every occurrence of them.

    Returns:
        The same bytes without the members and their commas; unchanged where there is nothing to remove.
    """
    try:
        edits = [
            edit
            for found in _objects_at(raw, path)
            for edit in _removals(found.members, {m for m in found.members if m.name in names})
        ]
    except ValueError:
        return raw
    return _apply(raw, edits)


def rewrite(raw: bytes, value: Mapping[str, Any]) -> bytes:
    """The text of `value`, spelled like `raw` wherever the two agree.

    Args:
        raw: The text of a well-formed object.
        value: What the result shall parse to.

    Returns:
        Kept members keep text and order, changed ones are edited in place (objects member by member), new
        ones come last.

    Raises:
        ValueError: `raw` holds no well-formed object.
    """
    found = _object(raw, 0)
    last = {member.name: member for member in found.members}
    gone = {m for m in found.members if m.name not in value or last[m.name] is not m}
    edits = _removals(found.members, gone)
    for name, member in last.items():
        if name in value:
            text = raw[member.value_start : member.end]
            new = _respell(text, value[name])
            if new != text:
                edits.append((member.value_start, member.end, new))
    edits += _additions(raw, found, gone, {name: item for name, item in value.items() if name not in last})
    return _apply(raw, edits)


_Edit: TypeAlias = tuple[int, int, bytes]
"""Replace the bytes from the first to the second offset."""


def _respell(text: bytes, value: object) -> bytes:
    old = json.loads(text)
    if canonical(old) == canonical(value):
        return text
    if isinstance(old, dict) and isinstance(value, Mapping):
        return rewrite(text, value)
    return dump(value)


def _additions(raw: bytes, found: _Object, gone: Collection[Member], new: Mapping[str, Any]) -> list[_Edit]:
    if not new:
        return []
    kept = [member for member in found.members if member not in gone]
    comma, colon = _separators(raw, found.members)
    text = comma.join(dump(name) + colon + dump(value) for name, value in new.items())
    if kept:
        return [(kept[-1].end, kept[-1].end, comma + text)]
    at = found.members[0].start if found.members else found.inside
    return [(at, at, text)]


def _separators(raw: bytes, found: tuple[Member, ...]) -> tuple[bytes, bytes]:
    """What this writer puts between members, and between a name and its value."""
    comma = raw[found[0].end : found[1].start] if len(found) > 1 else b", "
    name = _STRING.match(raw, found[0].start) if found else None
    return comma, raw[name.end() : found[0].value_start] if name else b": "


def _removals(found: tuple[Member, ...], gone: Collection[Member]) -> list[_Edit]:
    """Cut members out with one comma each: the one before, or behind for those before the first kept one."""
    edits: list[_Edit] = []
    kept_before = False
    for index, member in enumerate(found):
        if member not in gone:
            kept_before = True
        elif kept_before:
            edits.append((found[index - 1].end, member.end, b""))
        else:
            end = found[index + 1].start if index + 1 < len(found) else member.end
            edits.append((member.start, end, b""))
    return edits


def _apply(raw: bytes, edits: list[_Edit]) -> bytes:
    parts: list[bytes] = []
    end = len(raw)
    for start, stop, text in sorted(edits, reverse=True):
        parts += (raw[stop:end], text)
        end = start
    parts.append(raw[:end])
    return b"".join(reversed(parts))


def _objects_at(raw: bytes, path: tuple[str, ...]) -> Iterator[_Object]:
    level = [_object(raw, 0)]
    for name in path:
        level = [
            _object(raw, member.value_start)
            for found in level
            for member in found.members
            if member.name == name and raw[member.value_start : member.value_start + 1] == b"{"
        ]
    return iter(level)


def _object(raw: bytes, start: int) -> _Object:
    inside = raw.index(b"{", start) + 1
    found: list[Member] = []
    position = _skip(raw, inside)
    if raw[position : position + 1] == b"}":
        return _Object(inside, ())
    while True:
        member = _member(raw, position)
        found.append(member)
        position = _skip(raw, member.end)
        separator = raw[position : position + 1]
        if separator == b"}":
            return _Object(inside, tuple(found))
        if separator != b",":
            raise ValueError(f"no JSON object: expected a comma at byte {position}")
        position = _skip(raw, position + 1)


def _member(raw: bytes, start: int) -> Member:
    name = _STRING.match(raw, start)
    if name is None:
        raise ValueError(f"no JSON object: expected a name at byte {start}")
    colon = _skip(raw, name.end())
    if raw[colon : colon + 1] != b":":
        raise ValueError(f"no JSON object: expected a colon at byte {colon}")
    value_start = _skip(raw, colon + 1)
    return Member(json.loads(name.group()), start, value_start, _value_end(raw, value_start))


def _value_end(raw: bytes, start: int) -> int:
    opening = raw[start : start + 1]
    if opening in (b"{", b"["):
        depth = 0
        for token in _BRACKET.finditer(raw, start):
            if token.group() in (b"{", b"["):
                depth += 1
            elif token.group() in (b"}", b"]"):
                depth -= 1
            if not depth:
                return token.end()
    else:
        value = (_STRING if opening == b'"' else _SCALAR).match(raw, start)
        if value is not None:
            return value.end()
    raise ValueError(f"no JSON object: expected a value at byte {start}")


def _skip(raw: bytes, position: int) -> int:
    space = _SPACE.match(raw, position)
    return space.end() if space else position
