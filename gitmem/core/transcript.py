"""Chat messages as plain text: what a model is asked to summarise, and what is archived when no model answers.

One message begins one line, `[time] ROLE: text`; further lines of it are indented, so that no text can pass for another message.
Pictures and files become breadcrumbs (memory-engine, section 2).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitmem.core.conversation import Message, tool_name

RAW = "[RAW]"
"""How a history entry begins that holds messages as they were."""
_LONGEST_CALL = 300
"""Characters of a call's arguments where they are only context."""
_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Whatever any reader takes for the end of a line."""


def transcript(messages: Iterable[Message], longest: int | None = None) -> str:
    """Messages as text.

    Args:
        messages: In order.
        longest: Characters of one message beyond which its middle is left out; None for whole messages.
    """
    return "\n".join(_told(message, longest) for message in messages)


def _told(message: Message, longest: int | None) -> str:
    time, role = message.get("timestamp"), message.get("role")
    when = f"[{_on_one_line(time[:16].replace('T', ' '))}] " if isinstance(time, str) and time else ""
    who = (_on_one_line(role).strip() if isinstance(role, str) else "").upper() or "UNKNOWN"
    if who == "TOOL" and isinstance(name := message.get("name"), str):
        who = f"TOOL {_on_one_line(name)}"
    text = "\n".join(part for part in _parts(message, longest) if part)
    shown = text if longest is None else shortened(text, longest)
    return f"{when}{who}: " + _LINE_END.sub(lambda end: f"{end[0]}  ", shown)


def _on_one_line(text: str) -> str:
    return _LINE_END.sub(" ", text)


def _parts(message: Message, longest: int | None) -> Iterator[str]:
    yield text_of(message.get("content"))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            arguments = function.get("arguments") if isinstance(function, dict) else None
            given = arguments if isinstance(arguments, str) else _dumped(arguments)
            yield f"(calls {tool_name(call)} {given if longest is None else shortened(given, _LONGEST_CALL)})"
    media = message.get("media")
    for item in media if isinstance(media, list) else ():
        yield f"[file: {_name(item)}]"


def text_of(content: object) -> str:
    """The text of a message's content: a string, or a list of blocks; anything else as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_block(block) for block in content)
    return _dumped(content)


def _block(block: object) -> str:
    if not isinstance(block, dict):
        return block if isinstance(block, str) else _dumped(block)
    text = block.get("text")
    if isinstance(text, str):
        return text
    kind = block.get("type")
    if isinstance(kind, str) and kind.startswith(("image", "input_image")):
        return f"[image: {_name(block)}]"
    if isinstance(kind, str) and any(word in kind for word in ("file", "audio", "video", "document")):
        return f"[{kind}: {_name(block)}]"
    return _dumped(block)


def _name(item: object) -> str:
    """What a picture or file is called: its path or address, unless that is the data itself."""
    if isinstance(item, str):
        return "inline" if item.startswith("data:") else shortened(item, 120)
    if isinstance(item, Mapping):
        for key in ("path", "name", "filename", "file_name", "url", "image_url", "file", "source"):
            if item.get(key):
                return _name(item[key])
    return "inline"


def _dumped(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def shortened(text: str, longest: int) -> str:
    """Text whose middle is left out where it is longer."""
    if len(text) <= longest:
        return text
    head = longest * 2 // 3
    tail = longest - head
    return (
        f"{text[:head]}\n[... {len(text) - head - tail} characters left out ...]\n{text[len(text) - tail :]}"
    )


def pieces(text: str, longest: int) -> list[str]:
    """Text cut into parts of at most `longest` characters, at line ends where possible; joined by nothing they are the text."""
    parts: list[str] = []
    start = 0
    while len(text) - start > longest:
        cut = text.rfind("\n", start + longest // 2, start + longest) + 1 or start + longest
        parts.append(text[start:cut])
        start = cut
    return [*parts, text[start:]]


def raw_archive(messages: Sequence[Message], longest: int) -> list[str]:
    """Messages as history entries when no model has summarised them: all of them, in as many entries as it takes.

    Args:
        messages: The messages; at least one.
        longest: Characters of one entry.
    """
    noun = "message" if len(messages) == 1 else "messages"
    room = longest - 60
    parts = pieces(transcript(messages), room)
    if len(parts) == 1:
        return [f"{RAW} {len(messages)} {noun}\n{parts[0]}"]
    return [
        f"{RAW} {len(messages)} {noun}, part {number} of {len(parts)}\n{part}"
        for number, part in enumerate(_continued(parts), 1)
    ]


def _continued(parts: Sequence[str]) -> Iterator[str]:
    """Parts as they are; one that begins in the middle of a line is indented, so that it does not look like a message."""
    inside = False
    for part in parts:
        yield f"  {part}" if inside else part
        inside = not part.endswith("\n")


def quoted(text: str, tag: str) -> str:
    """Text as data between tags; nothing in it can end the section (case B100)."""
    inside = text.replace(f"</{tag}", f"<\\/{tag}").replace(f"<{tag}>", f"<\\{tag}>")
    return f"<{tag}>\n{inside}\n</{tag}>"


def as_text(value: Any) -> str:
    """A value of a model's answer as text: text itself, anything else as JSON (case B81)."""
    return value if isinstance(value, str) else _dumped(value)
