"""A change of a session or of history.jsonl as a person wants to read it: one message a line.

    ~ metadata   last_consolidated: 0 -> 40
    @@ line 12 @@
      user       "when does the train leave?"
    + assistant  "Let me look." calls timetable({"from": "Delft"})
    + tool       timetable: "10:32, 11:02"

`~` marks a record that was changed in place in fields a line does not show. The exact lines are
`textdiff.unified`'s business.
"""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from gitmem.core import jsonl
from gitmem.core.linediff import Hunk, hunks
from gitmem.core.model import MODE_SYMLINK, Change, File
from gitmem.core.printable import printable
from gitmem.core.textdiff import header, split_lines

Fields: TypeAlias = dict[str, Any]

_TEXT = 160
"""Characters of a message shown; its length is told where there are more."""
_SPELLING = "the same, written differently"
_VALUE = 60
"""Characters of a field's value shown."""


def is_readable(change: Change) -> bool:
    """Whether a file holds records: a JSON Lines file, not a link."""
    sides = [file for file in (change.old, change.new) if file is not None]
    return change.path.endswith(".jsonl") and all(file.mode != MODE_SYMLINK for file in sides)


def readable(change: Change, context: int = 3) -> str:
    """The change as lines for people; safe to print on a terminal.

    Args:
        change: Of a file for which `is_readable` holds.
        context: Unchanged records around each change.
    """
    return printable(header(change) + "".join(f"{line}\n" for line in _lines(change, context)))


def _lines(change: Change, context: int) -> Iterator[str]:
    old, new = _split(change.old), _split(change.new)
    before, after = _metadata(old), _metadata(new)
    paired = before is not None and after is not None
    if before is not None and after is not None:
        if old[0] != new[0]:
            yield f"~ {'metadata':<10} {', '.join(differences(before, after)) or _SPELLING}"
        old, new = old[1:], new[1:]
    for hunk in hunks(old, new, context):
        first = hunk.new_start + 1 + paired
        yield f"@@ line {first} @@"
        yield from _hunk(hunk)


def _split(file: File | None) -> list[bytes]:
    return [] if file is None else split_lines(file.data)


def _metadata(lines: list[bytes]) -> Fields | None:
    value = _value(lines[0]) if lines else None
    return value if value is not None and value.get("_type") == "metadata" else None


def _value(line: bytes) -> Fields | None:
    parsed = jsonl.parse(line).lines
    return parsed[0].value if parsed else None


def _hunk(hunk: Hunk[bytes]) -> Iterator[str]:
    """A hunk's lines; a record removed and added again with nothing visible changed becomes one `~` line."""
    removed: list[bytes] = []
    added: list[bytes] = []
    for sign, line in [*hunk.lines, (" ", b"")]:
        if sign == "-":
            removed.append(line)
        elif sign == "+":
            added.append(line)
        else:
            yield from _replaced(removed, added)
            removed, added = [], []
            if line:
                yield f"  {describe(line)}"


def _replaced(removed: list[bytes], added: list[bytes]) -> Iterator[str]:
    told = {describe(line): line for line in removed}
    same = {text for text in map(describe, added) if text in told}
    for line in removed:
        if describe(line) not in same:
            yield f"- {describe(line)}"
    for line in added:
        text = describe(line)
        if text not in same:
            yield f"+ {text}"
            continue
        before, after = _value(told[text]), _value(line)
        fields = differences(before, after) if before is not None and after is not None else []
        yield f"~ {text}  ({', '.join(fields) or _SPELLING})"


def describe(line: bytes) -> str:
    """One record as one line of text."""
    value = _value(line)
    if value is None:
        text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
        return f"{'unreadable':<10} {_short(text, _TEXT)}" if text.strip() else ""
    if "_type" in value:
        return f"{value['_type']!s:<10} {_short(_json(_without(value, '_type')), _TEXT)}"
    if "cursor" in value and "role" not in value:
        return _history_entry(value)
    if "role" in value:
        return _message(value)
    return f"{'record':<10} {_short(_json(value), _TEXT)}"


def _history_entry(value: Fields) -> str:
    key = f" [{value['session_key']}]" if value.get("session_key") else ""
    return f"#{value['cursor']!s:<9} {value.get('timestamp', '')}{key} {_content(value.get('content'))}"


def _message(value: Fields) -> str:
    name = f"{value['name']}: " if value.get("role") == "tool" and value.get("name") else ""
    calls = value.get("tool_calls")
    called = [_call(call) for call in calls] if isinstance(calls, list) else []
    said = _content(value.get("content"))
    if called and said == '""':
        said = ""
    parts = [part for part in (f"{name}{said}", *called) if part]
    return f"{value['role']!s:<10} {' '.join(parts)}"


def _call(call: object) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return "calls ?"
    return f"calls {function.get('name')}({_short(str(function.get('arguments', '')), _VALUE)})"


def _content(content: object) -> str:
    if isinstance(content, str):
        return _quoted(content, _TEXT)
    if isinstance(content, list):
        return " ".join(_block(block) for block in content)
    return "" if content is None else _short(_json(content), _TEXT)


def _block(block: object) -> str:
    if isinstance(block, dict) and isinstance(block.get("text"), str):
        return _quoted(block["text"], _TEXT)
    return f"[{block.get('type', 'block') if isinstance(block, dict) else 'block'}]"


def differences(before: Fields, after: Fields, prefix: str = "") -> list[str]:
    """What became of an object's fields, `name: old -> new` each; objects inside it are looked into once.

    A session's `updated_at` moves with every save: it is named only where nothing else changed.
    """
    found: list[str] = []
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        if key in before and key in after and jsonl.canonical(old) == jsonl.canonical(new):
            continue
        if not prefix and isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{key}.")
            continue
        was = _short(_json(old), _VALUE) if key in before else "none"
        now = _short(_json(new), _VALUE) if key in after else "none"
        found.append(f"{prefix}{key}: {was} -> {now}")
    others = [text for text in found if not text.startswith("updated_at:")]
    return others or found


def _without(value: Fields, name: str) -> Fields:
    return {key: item for key, item in value.items() if key != name}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(text: str, limit: int) -> str:
    if len(text) <= limit:
        return _json(text)
    return f"{_json(text[:limit])}... ({len(text):,} characters)"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"
