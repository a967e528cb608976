"""Text that a terminal shows and does not obey.

What an agent remembers comes from anywhere; a memory file may hold escape sequences that move the cursor,
rename the window or hide a line, and direction overrides that make a text read differently from what it is.
"""

import re

_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and LF, line separators, direction overrides, and bytes that are no UTF-8."""


def printable(text: str) -> str:
    """The text with what a terminal could obey as backslash escapes; tabs and line feeds stay."""
    return _OBEYED.sub(_escape, text)


def inline(text: str) -> str:
    """Printable text that stays on its line: a key or a title must not pass for a line of its own."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def decode(data: bytes) -> str:
    """Bytes of a file as printable text; what is not UTF-8 becomes a backslash escape, byte by byte."""
    return printable(data.decode("utf-8", "backslashreplace"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:  # an undecodable byte of a file name (surrogateescape)
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
