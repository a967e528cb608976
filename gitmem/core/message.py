"""Commit messages: a `Message` becomes bytes, and bytes become kind and trailers again (gitstore, section 4).

Session keys, paths and titles come from outside, so every line is cleaned: nobody can forge a second line or a trailer.
Trailers are those of git-interpret-trailers: one block at the end, `Token: value` a line.
"""

import re
from collections.abc import Mapping

from gitmem.core.model import CommitInfo, Kind, Message
from gitmem.core.printable import printable

SUBJECT_WIDTH = 100
"""Characters of a subject; git's own tools cut at about this width."""
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)[ \t]*:[ \t]*(.*)", re.DOTALL)
_SIGNATURE = frozenset({"Gitmem-Kind", "Gitmem-Agent", "Gitmem-Host"})
"""Trailers that `render` adds to every message."""
_MISREAD = re.compile(r"---|#|gitmem-", re.IGNORECASE)
"""What opens a line that git takes for the start of a patch or a comment, or a reader for a trailer."""


def clean(text: str) -> str:
    """Text on one line, with what a terminal or git could misread shown as an escape."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, width: int) -> str:
    """Cleaned text of at most `width` characters, the middle left out where it is longer."""
    whole = clean(text)
    if len(whole) <= width:
        return whole
    tail = (width - 3) // 2
    return f"{whole[: width - 3 - tail]}...{whole[len(whole) - tail :]}"


def render(message: Message, *, host: str, agent: str) -> bytes:
    """The message as bytes.

    Args:
        message: Kind, subject, body lines and trailers.
        host: Goes into `Gitmem-Host`.
        agent: Goes into `Gitmem-Agent`.
    """
    body = [_unmistakable(clean(line).rstrip()) for line in message.body]
    trailers = (
        ("Gitmem-Kind", str(message.kind)),
        *message.trailers,
        ("Gitmem-Agent", agent),
        ("Gitmem-Host", host),
    )
    lines = [_subject(message)]
    if any(body):
        lines += ["", *body]
    lines += ["", *(f"{token}: {clean(value).strip()}" for token, value in trailers)]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _subject(message: Message) -> str:
    subject = clean(message.subject).strip()
    if not subject or _MISREAD.match(subject):
        subject = f"{message.kind}: {subject}".strip()
    return subject if len(subject) <= SUBJECT_WIDTH else f"{subject[: SUBJECT_WIDTH - 3]}..."


def _unmistakable(line: str) -> str:
    """A body line that git could take for something else is indented."""
    return f"  {line}" if _MISREAD.match(line) else line


def parse(data: bytes) -> tuple[Kind, Mapping[str, tuple[str, ...]]]:
    """Kind and trailers of a commit message. Never raises.

    The last paragraph is read as git reads it: lines that are no trailers (`(cherry picked from ...)`) are passed over, and an
    indented line continues the one above.

    Returns:
        `Kind.FOREIGN` for a message that is not one of ours, with whatever trailers it has.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    above, blank, last = text.rstrip().rpartition("\n\n")
    if not blank or not above.strip():
        return Kind.FOREIGN, {}
    found: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in last.split("\n"):
        if line[:1].isspace():
            if values:
                values[-1] = f"{values[-1]} {line.strip()}"
        elif match := _TRAILER.fullmatch(line):
            values = found.setdefault(match[1], [])
            values.append(match[2].strip())
        else:
            values = None
    trailers = {token: tuple(given) for token, given in found.items()}
    return _kind(trailers.get("Gitmem-Kind", ("",))[0]), trailers


def reread(commit: CommitInfo) -> Message:
    """The message that one of our commits was made with, to make the same commit again elsewhere."""
    above, _, _ = commit.message.rstrip().rpartition("\n\n")
    body = tuple(line for line in above.split("\n")[1:] if line.strip())
    trailers = tuple(
        (token, value)
        for token, values in commit.trailers.items()
        for value in values
        if token not in _SIGNATURE
    )
    return Message(commit.kind, commit.subject, body, trailers)


def _kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        return Kind.FOREIGN
