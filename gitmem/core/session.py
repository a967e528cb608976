"""A session file: one line of metadata, then the messages of a conversation (memory-format, section 1).

Reading never raises and never hides a message; what is damaged is reported. Writing keeps the bytes of every
message that was read, so saving what was loaded changes nothing (case B71).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gitmem.core import jsonl
from gitmem.core.conversation import Message, for_request, is_legal, legal_suffix
from gitmem.core.session_names import (
    file_stem,
    key_from_nanobot_stem,
    key_from_stem,
    legacy_stem,
    nanobot_stem,
    session_of,
    sidecar_of,
)

__all__ = [
    "Message",
    "Session",
    "file_stem",
    "for_request",
    "is_legal",
    "key_from_nanobot_stem",
    "key_from_stem",
    "legacy_stem",
    "legal_suffix",
    "nanobot_stem",
    "parse",
    "render",
    "session_of",
    "sidecar_of",
    "trimmed",
    "unarchived",
]

METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class _Origin:
    """What a session was parsed from."""

    data: bytes
    lines: tuple[jsonl.Line, ...]
    metadata: jsonl.JsonObject
    last_consolidated: int


_NOTHING = _Origin(b"", (), {}, 0)


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. Change it with `dataclasses.replace`; never change its parts in place.

    Attributes:
        metadata: The whole metadata record; empty where the file has none.
        messages: The messages in order, as parsed.
        opaque: Records of other types, such as `provider_state`.
        last_consolidated: How many leading messages are archived; always within the list.
        problems: What is wrong with the file, one sentence each. Commit the file as it is before rewriting
            it.
        torn: The file ends in the middle of a record.
    """

    metadata: jsonl.JsonObject = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    opaque: tuple[jsonl.JsonObject, ...] = ()
    last_consolidated: int = 0
    problems: tuple[str, ...] = ()
    torn: bool = False
    origin: _Origin = field(default=_NOTHING, repr=False, compare=False)

    @property
    def key(self) -> str | None:
        """The session's key as the file states it."""
        key = self.metadata.get("key")
        return key if isinstance(key, str) and key else None

    @property
    def state(self) -> jsonl.JsonObject:
        """The inner `metadata` object: title, goal, run state and whatever else an agent keeps there."""
        state = self.metadata.get("metadata")
        return state if isinstance(state, dict) else {}


def parse(data: bytes) -> Session:
    """Read a session file; any bytes give a session.

    Metadata lines may stand anywhere, later ones win field by field. Other records with a `_type` are
    opaque, all others are messages. An invalid `last_consolidated` counts as 0: to summarise again is
    allowed, to hide is not.
    """
    file = jsonl.parse(data)
    metadata: jsonl.JsonObject = {}
    messages: list[Message] = []
    opaque: list[jsonl.JsonObject] = []
    for line in file.records:
        record = line.value or {}
        match record.get("_type"):
            case "metadata":
                metadata |= record
            case None:
                messages.append(record)
            case _:
                opaque.append(record)
    merged_badly = any(line.marker for line in file.lines)
    mark, problems = _checked_mark(metadata, len(messages), merged_badly=merged_badly)
    return Session(
        metadata=metadata,
        messages=tuple(messages),
        opaque=tuple(opaque),
        last_consolidated=mark,
        problems=(*file.problems, *problems),
        torn=file.torn,
        origin=_Origin(data, file.lines, metadata, mark),
    )


def render(session: Session) -> bytes:
    """The bytes of a session file: one metadata line first, then the rest in order.

    Messages and opaque records that were parsed are written back byte for byte, unparsable lines stay where
    they were; blank lines, NUL runs and conflict markers are not kept. A session nobody changed is its
    original bytes.
    """
    origin = session.origin
    if _unchanged(session):
        return origin.data
    lines = [_metadata_line(session), *_body(session)]
    return b"".join(line + b"\n" for line in lines)


def unarchived(session: Session) -> tuple[Message, ...]:
    """The messages that a model still sees in full: those behind the archived ones."""
    return session.messages[session.last_consolidated :]


def trimmed(session: Session, count: int) -> Session:
    """The session cut to a legal suffix of at most `count` messages; its archive mark moves along."""
    kept = legal_suffix(session.messages, count)
    dropped = len(session.messages) - len(kept)
    return replace(session, messages=kept, last_consolidated=max(0, session.last_consolidated - dropped))


def _checked_mark(
    metadata: jsonl.JsonObject, count: int, *, merged_badly: bool
) -> tuple[int, tuple[str, ...]]:
    """The archive mark, and what is wrong with the metadata (cases B07, B74)."""
    problems: list[str] = []
    if not isinstance(metadata.get("metadata", {}), dict):
        problems.append("the metadata field is not an object")
    mark = metadata.get("last_consolidated", 0)
    if not isinstance(mark, int) or isinstance(mark, bool) or not 0 <= mark <= count:
        problems.append(f"last_consolidated is not a number from 0 to {count}, taken as 0")
        mark = 0
    elif mark and merged_badly:
        problems.append("last_consolidated stands between conflict markers, taken as 0")
        mark = 0
    return mark, tuple(problems)


def _unchanged(session: Session) -> bool:
    origin = session.origin
    if origin is _NOTHING or session.last_consolidated != origin.last_consolidated:
        return False
    records = [line.value for line in origin.lines if line.value is not None]
    kinds = [record.get("_type") for record in records]
    if kinds.count(METADATA) > 1 or METADATA in kinds[1:]:
        return False
    rest = [record for record, kind in zip(records, kinds, strict=True) if kind != METADATA]
    if {id(record) for record in rest} != {id(record) for record in (*session.messages, *session.opaque)}:
        return False
    in_order = [id(record) for record in rest if record.get("_type") is None]
    if in_order != [id(message) for message in session.messages]:
        return False
    return jsonl.canonical(session.metadata) == jsonl.canonical(origin.metadata)


def _metadata_line(session: Session) -> bytes:
    record: dict[str, Any] = {"_type": METADATA, **session.metadata}
    record.setdefault("metadata", {})
    record["last_consolidated"] = session.last_consolidated
    written = [line for line in session.origin.lines if line.value and line.value.get("_type") == METADATA]
    return jsonl.rewrite(written[-1].record, record) if written else jsonl.dump(record)


def _body(session: Session) -> Iterator[bytes]:
    """Everything but metadata: the session's messages, the other lines of the file kept between them."""
    opaque = {id(record) for record in session.opaque}
    lines = [line for line in session.origin.lines if _kept(line, opaque)]
    places = {id(line.value): place for place, line in enumerate(lines) if line.value is not None}
    for record in session.opaque:
        if id(record) not in places:
            yield jsonl.dump(record)
    done = 0
    for message in session.messages:
        place = places.get(id(message))
        until = _next_message(lines, done) if place is None else place
        yield from (line.record for line in lines[done:until] if not _is_message(line))
        yield jsonl.dump(message) if place is None else lines[place].record
        done = max(done, until if place is None else place + 1)
    yield from (line.record for line in lines[done:] if not _is_message(line))


def _kept(line: jsonl.Line, opaque: Collection[int]) -> bool:
    if line.value is None:
        return not line.blank and not line.marker and bool(line.record.strip())
    kind = line.value.get("_type")
    return kind is None or id(line.value) in opaque


def _is_message(line: jsonl.Line) -> bool:
    return line.value is not None and line.value.get("_type") is None


def _next_message(lines: Sequence[jsonl.Line], start: int) -> int:
    return next((i for i in range(start, len(lines)) if _is_message(lines[i])), len(lines))
