"""Sessions of two machines: nothing lost, nothing back, nothing twice, and archived is what somebody archived."""

from collections import Counter

from hypothesis import given

from gitmem.core import jsonl, session
from gitmem.core.conversation import is_legal
from gitmem.core.merge.conflict import Conflict
from gitmem.core.merge.files import merge_file
from gitmem.core.model import PathClass
from tests.core.merge.versions import THOROUGH, always_the_same, three_sessions, values

PATH = "sessions/a.jsonl"
Version = bytes | None


def merge(base: Version, ours: Version, theirs: Version) -> tuple[Version, tuple[Conflict, ...]]:
    merged = merge_file(PathClass.SESSION, PATH, base, ours, theirs)
    assert merged.loser is None
    return merged.data, merged.conflicts


def merged(base: Version, ours: Version, theirs: Version) -> session.Session:
    result = always_the_same(merge, base, ours, theirs, lambda found: found[0])[0]
    assert result is not None
    return session.parse(result)


def marked(data: Version) -> dict[tuple[str, int], bool]:
    """What is said, without tool calls and results: each message with its number among equal ones, and whether it is archived."""
    parsed = session.parse(data or b"")
    found: dict[tuple[str, int], bool] = {}
    for place, message in enumerate(parsed.messages):
        if message.get("role") != "tool" and "tool_calls" not in message:
            name = jsonl.identity(message)
            found[name, sum(known == name for known, _ in found)] = place < parsed.last_consolidated
    return found


@THOROUGH
@given(three_sessions())
def test_the_same_from_both_sides_and_nothing_to_do_twice(versions: tuple[Version, Version, Version]) -> None:
    always_the_same(merge, *versions, lambda found: found[0])


@THOROUGH
@given(three_sessions())
def test_every_message_is_there_and_archived_exactly_as_the_sides_decided(
    versions: tuple[Version, Version, Version],
) -> None:
    base, ours, theirs = (marked(version) for version in versions)
    wanted: Counter[tuple[str, bool]] = Counter()
    for key in ours.keys() | theirs.keys():
        if key not in base or (key in ours and key in theirs):
            flags = {side[key] for side in (ours, theirs) if key in side}
            wanted[key[0], flags.pop() if len(flags) == 1 else not base.get(key, False)] += 1
    assert Counter((name, flag) for (name, _), flag in marked(merge(*versions)[0]).items()) == wanted


@THOROUGH
@given(three_sessions())
def test_what_is_written_is_valid(versions: tuple[Version, Version, Version]) -> None:
    data, _ = merge(*versions)
    if data is None or data in versions:
        return
    parsed = session.parse(data)
    assert parsed.problems == ()
    assert [record.get("_type") for record in values(data)].count("metadata") == 1
    assert 0 <= parsed.last_consolidated <= len(parsed.messages)
    assert "runtime_checkpoint" not in parsed.state
    if all(is_legal(session.parse(version or b"").messages) for version in versions):
        assert is_legal(parsed.messages)
