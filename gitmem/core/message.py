"""Commit messages: a `Message` becomes bytes, and bytes become kind and trailers again (gitstore, section 4).

Session keys, paths and titles come from outside, so every line is cleaned: nobody can forge a second line or a trailer.
Trailers are those of git-interpret-trailers: one block at the end, `Token: value` a line.
"""

import re
from collections.abc import Mapping

from gitmem.core.model import Kind, Message

_SUBJECT = 100
"""Characters of a subject; git's own tools cut at about this width."""
_TRAILER = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]*): ?(.*)$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Text on one line, with what a terminal or git could misread shown as an escape."""
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def render(message: Message, *, host: str, agent: str) -> bytes:
    """The message as bytes.

    Args:
        message: Kind, subject, body lines and trailers.
        host: Goes into `Gitmem-Host`.
        agent: Goes into `Gitmem-Agent`.
    """
    subject = clean(message.subject)
    lines = [subject if len(subject) <= _SUBJECT else subject[: _SUBJECT - 3] + "..."]
    body = [_not_a_trailer(clean(line)) for line in message.body]
    if body:
        lines += ["", *body]
    trailers = [
        ("Gitmem-Kind", str(message.kind)),
        *message.trailers,
        ("Gitmem-Agent", agent),
        ("Gitmem-Host", host),
    ]
    lines += ["", *(f"{token}: {clean(value).strip()}" for token, value in trailers)]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _not_a_trailer(line: str) -> str:
    """A body line that could be taken for one of ours is indented."""
    return f"  {line}" if line.lower().startswith("gitmem-") else line


def parse(data: bytes) -> tuple[Kind, Mapping[str, tuple[str, ...]]]:
    """Kind and trailers of a commit message; `Kind.FOREIGN` where it is not one of ours. Never raises."""
    lines = data.decode("utf-8", "replace").rstrip("\n").split("\n")
    start = len(lines)
    while start > 0 and _TRAILER.match(lines[start - 1]):
        start -= 1
    if start < 2 or lines[start - 1] != "":
        return Kind.FOREIGN, {}
    found: dict[str, list[str]] = {}
    for line in lines[start:]:
        if match := _TRAILER.match(line):
            found.setdefault(match[1], []).append(match[2])
    trailers = {token: tuple(values) for token, values in found.items()}
    name = trailers.get("Gitmem-Kind", ("",))[0]
    kind = Kind(name) if name in Kind._value2member_map_ else Kind.FOREIGN
    return kind, trailers
