"""The old memory/HISTORY.md -> history entries (memory-format, section 5).

Old agents appended paragraphs that start with `[YYYY-MM-DD HH:MM]`. A paragraph of raw messages holds lines
that start the same way but name a speaker behind the time; those belong to it.
"""

import re

from gitmem.core import history

_TIME = re.compile(r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d)[^\]\n]*\][ \t]*")
_RAW = re.compile(r"\[RAW\]")
_SPOKEN = re.compile(r"[A-Z][A-Z0-9_]*(?: \[[^\]\n]*\])?:")


def migrated(markdown: bytes, undated: str) -> bytes:
    """An old history as the content of a new `history.jsonl`.

    Args:
        markdown: The old file. Bytes that are no UTF-8 become replacement characters: keep the original
            beside.
        undated: Timestamp for text that has none, `YYYY-MM-DD HH:MM`.

    Returns:
        One entry per dated paragraph, cursors from 1. All of them count as dreamed: `.cursor` and
        `.dream_cursor` both become the last one. Text longer than an entry holds goes on in the next.
    """
    pieces = [
        (timestamp or undated, content[start : start + history.MAX_CONTENT])
        for timestamp, content in _paragraphs(markdown.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        for start in range(0, len(content), history.MAX_CONTENT)
    ]
    return b"".join(history.record(cursor, *piece) + b"\n" for cursor, piece in enumerate(pieces, 1))


def _paragraphs(text: str) -> list[tuple[str | None, str]]:
    """Timestamp and text of each entry; what stands before the first timestamp has none."""
    found: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in text.split("\n"):
        time = _TIME.match(line)
        raw = bool(found[-1][1]) and _RAW.match(found[-1][1][0]) is not None
        if time and not (raw and _SPOKEN.match(line, time.end())):
            found.append((time[1].replace("T", " "), [line[time.end() :]]))
        else:
            found[-1][1].append(line)
    entries = [(timestamp, "\n".join(lines).strip()) for timestamp, lines in found]
    return [(timestamp, content) for timestamp, content in entries if content]
