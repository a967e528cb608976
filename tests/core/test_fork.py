"""What a forked session holds, and what stays behind."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import session
from gitmem.core.fork import forked, turns
from gitmem.errors import UsageError

NOW = "2026-05-01T10:00:00"
ROLES = ("user", "assistant", "user", "user", "assistant", "tool", "user", "assistant")


def conversation(archived: int = 0, **state: Any) -> bytes:
    head = {"_type": "metadata", "key": "cli:a", "color": 7, "metadata": state, "last_consolidated": archived}
    lines = [json.dumps(head)]
    lines += [f'{{"role":  "{role}", "content": "m{number}"}}' for number, role in enumerate(ROLES)]
    return "\n".join(lines).encode() + b"\n"


@pytest.mark.parametrize(("before", "kept"), [(2, 2), (3, 3), (4, 6), (5, 8)])
def test_a_fork_holds_the_messages_before_a_turn_byte_for_byte(before: int, kept: int) -> None:
    source = conversation()
    made = forked(source, "cli:b", before, NOW)
    assert made.messages == kept
    assert made.data.split(b"\n")[1:-1] == source.split(b"\n")[1 : kept + 1]
    assert session.parse(made.data).key == "cli:b"


@pytest.mark.parametrize(("before", "words"), [(0, "no turn 0"), (6, "no turn 6"), (1, "nothing to fork")])
def test_a_turn_that_is_not_there_is_refused(before: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        forked(conversation(), "cli:b", before, NOW)


def test_other_members_stay_and_times_are_new() -> None:
    metadata = session.parse(forked(conversation(title="Porto"), "cli:b", 3, NOW).data).metadata
    assert metadata["color"] == 7
    assert metadata["metadata"] == {"title": "Porto"}
    assert (metadata["created_at"], metadata["updated_at"]) == (NOW, NOW)


def test_run_state_and_records_of_a_provider_stay_behind() -> None:
    source = conversation(
        runtime_checkpoint={"phase": "awaiting_tools"}, pending_user_turn=True, _pending_user_turn=True
    )
    private = b'{"_type": "provider_state", "id": 1}\n{"_type": "note", "text": "x"}\n'
    head, rest = source.split(b"\n", 1)
    made = session.parse(forked(head + b"\n" + private + rest, "cli:b", 3, NOW).data)
    assert made.state == {}
    assert [record["_type"] for record in made.opaque] == ["note"]


@pytest.mark.parametrize(
    ("archived", "before", "mark", "summary"), [(2, 3, 2, True), (3, 3, 3, True), (6, 3, 0, False)]
)
def test_what_was_archived_counts_only_where_the_fork_holds_all_of_it(
    archived: int, before: int, mark: int, summary: bool
) -> None:
    source = conversation(archived, _last_summary={"text": "a summary"})
    made = session.parse(forked(source, "cli:b", before, NOW).data)
    assert made.last_consolidated == mark
    assert ("_last_summary" in made.state) is summary


def test_a_goal_of_later_turns_is_none_of_the_fork() -> None:
    source = conversation(goal_state={"text": "g"}, thread_goal="g")
    assert not session.parse(forked(source, "cli:b", 3, NOW).data).state
    assert len(session.parse(forked(source, "cli:b", 5, NOW).data).state) == 2


def test_metadata_behind_the_messages_counts_and_damage_stays_in_the_source() -> None:
    head, rest = conversation().split(b"\n", 1)
    source = rest.replace(b"\n", b"\nbroken\n", 1) + head + b"\n" + b'{"role": "user", "con'
    made = session.parse(forked(source, "cli:b", 2, NOW).data)
    assert (made.problems, made.torn, len(made.messages)) == ((), False, 2)
    assert made.metadata["color"] == 7


@given(st.binary(max_size=300), st.lists(st.sampled_from(ROLES), max_size=6), st.integers(0, 7))
def test_any_bytes_fork_to_a_sound_prefix_or_are_refused(
    damage: bytes, roles: list[str], before: int
) -> None:
    lines = [damage, *(json.dumps({"role": role, "content": "x"}).encode() for role in roles)]
    source = b"\n".join(lines) + b"\n"
    old = session.parse(source)
    try:
        made = session.parse(forked(source, "cli:b", before, NOW).data)
    except UsageError:
        return
    assert made.messages == old.messages[: len(made.messages)]
    assert len(turns(made.messages)) == before - 1
    assert (made.problems, made.key) == ((), "cli:b")
