"""Sessions of two machines: nothing lost, nothing back, nothing twice, and archived is what somebody archived."""

from collections import Counter

from hypothesis import given

from gitmem.core import jsonl, session
from gitmem.core.conversation import is_legal
from gitmem.core.merge.conflict import Conflict, ConflictKind
from gitmem.core.merge.files import merge_file
from gitmem.core.model import PathClass
from tests.core.conversations import Json, assistant, file_of, metadata, tool, user
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


def talk(*messages: Json, mark: int = 0, **state: object) -> bytes:
    return file_of({**metadata(mark=mark), "metadata": state}, *messages)


def texts(data: Version) -> list[object]:
    return [message.get("content") for message in session.parse(data or b"").messages]


def at(second: int) -> str:
    return f"2026-03-01T10:00:{second:02}"


ASK = user("ask", timestamp=at(1))
CALLS = assistant("", "A", "B", timestamp=at(2))


def test_turns_stay_whole_and_stand_in_the_order_of_their_time() -> None:
    one = [user("1", timestamp=at(1)), assistant("1a", timestamp=at(9))]
    two = [user("2", timestamp=at(3)), assistant("2a", timestamp=at(4))]
    three = [user("3", timestamp=at(2)), assistant("3a", timestamp=at(2))]
    data, conflicts = merge(talk(), talk(*one, *two), talk(*three))
    assert texts(data) == ["1", "1a", "3", "3a", "2", "2a"]
    assert conflicts == ()


def test_the_rest_of_a_turn_follows_what_both_have() -> None:
    data, _ = merge(
        talk(ASK), talk(ASK, assistant("answer", timestamp=at(9))), talk(ASK, user("other", timestamp=at(2)))
    )
    assert texts(data) == ["ask", "answer", "other"]


def test_archived_messages_of_either_machine_come_first_and_nothing_else_is_archived() -> None:
    base = talk(ASK)
    ours = talk(ASK, user("mine", timestamp=at(8)), mark=2)
    theirs = talk(ASK, user("other", timestamp=at(5)))
    parsed = merged(base, ours, theirs)
    assert [message["content"] for message in parsed.messages] == ["ask", "mine", "other"]
    assert parsed.last_consolidated == 2


def test_results_of_one_turn_meet_and_a_real_one_beats_an_interrupted_one() -> None:
    stub = "Error: Task interrupted before this tool finished."
    base = talk(ASK, CALLS)
    ours = talk(ASK, CALLS, tool("A", "real"), tool("B", stub), assistant("done"))
    theirs = talk(ASK, CALLS, tool("A", stub), tool("B", "real too"))
    assert texts(merge(base, ours, theirs)[0]) == ["ask", "", "real", "real too", "done"]


def test_a_call_that_is_not_the_last_any_more_gets_an_interrupted_result() -> None:
    data, _ = merge(talk(ASK), talk(ASK, CALLS, tool("B", "b")), talk(ASK, user("later", timestamp=at(7))))
    messages = session.parse(data or b"").messages
    assert is_legal(messages)
    assert [message.get("tool_call_id") for message in messages] == [None, None, "B", "A", None]
    assert messages[3]["timestamp"] == at(2)
    answered = talk(ASK, CALLS, tool("B", "b"), tool("A", "late"))
    assert texts(merge(talk(ASK, CALLS, tool("B", "b")), data, answered)[0]) == [
        "ask",
        "",
        "b",
        "late",
        "later",
    ]


def test_a_replay_elsewhere_folds_into_the_turn_that_was_saved() -> None:
    saved = talk(ASK, {**CALLS, "timestamp": at(5)}, tool("A", "a"), tool("B", "b"), assistant("done"))
    replayed = talk(
        ASK, CALLS, tool("A", "a"), tool("B", "Error: Task interrupted before this tool finished.")
    )
    assert texts(merge(talk(ASK), saved, replayed)[0]) == ["ask", "", "a", "b", "done"]


def test_calls_with_ids_that_a_provider_uses_again_are_not_taken_for_one() -> None:
    ours = talk(ASK, CALLS, tool("A", "1"), tool("B", "2"))
    theirs = talk(ASK, CALLS, tool("A", "3"), tool("B", "4"))
    assert sorted(map(str, texts(merge(talk(ASK), ours, theirs)[0]))) == ["", "", "1", "2", "3", "4", "ask"]


def test_a_late_result_does_not_bring_back_a_removed_call() -> None:
    base = talk(ASK, CALLS)
    assert texts(merge(base, talk(), talk(ASK, CALLS, tool("A"), tool("B")))[0]) == []


def test_a_message_edited_on_both_machines_stays_in_both_versions() -> None:
    data, _ = merge(talk(ASK), talk(user("ask 1", timestamp=at(1))), talk(user("ask 2", timestamp=at(1))))
    assert sorted(map(str, texts(data))) == ["ask 1", "ask 2"]


def test_a_removed_session_comes_back_with_what_its_remover_had_not_seen() -> None:
    data, conflicts = merge(talk(ASK), None, talk(ASK, assistant("new")))
    assert texts(data) == ["new"]
    assert [told.kind for told in conflicts] == [ConflictKind.DELETE]
    assert merge(talk(ASK), None, talk(ASK, title="only a title")) == (None, ())


def state(data: Version) -> dict[str, object]:
    return session.parse(data or b"").state


def test_state_is_merged_field_by_field() -> None:
    base = talk(ASK, goal_state={"a": 1, "b": 1}, title="t", old=1)
    ours = talk(ASK, user("x"), goal_state={"a": 2, "b": 1}, title="t")
    theirs = talk(ASK, goal_state={"a": 1, "b": 1}, title="u", old=1)
    data, conflicts = merge(base, ours, theirs)
    assert state(data) == {"goal_state": {"a": 2, "b": 1}, "title": "u"}
    assert conflicts == ()


def test_a_title_given_by_a_person_beats_a_made_up_one() -> None:
    ours = talk(ASK, title="by hand", title_user_edited=True)
    late = talk(ASK, title="made up").replace(b"10:30:00", b"11:30:00")
    data, conflicts = merge(talk(ASK), ours, late)
    assert state(data) == {"title": "by hand", "title_user_edited": True}
    assert [told.values for told in conflicts] == [('"title": "by hand"', '"title": "made up"')]


def test_the_later_save_decides_about_a_value_and_a_set_one_beats_a_removed_one() -> None:
    base = talk(ASK, goal_state="a", thread_goal="a")
    ours = talk(ASK, goal_state="b").replace(b"10:30:00", b"11:30:00")
    theirs = (
        talk(ASK, goal_state="c", thread_goal="c")
        .replace(b"10:30:00", b"10:45:00")
        .replace(b"10:00:00", b"09:00:00")
    )
    data, _ = merge(base, ours, theirs)
    assert state(data) == {"goal_state": "b", "thread_goal": "c"}
    head = session.parse(data or b"").metadata
    assert (head["created_at"], head["updated_at"]) == ("2026-03-01T09:00:00", "2026-03-01T11:30:00")


def test_run_state_is_never_merged() -> None:
    ours = talk(ASK, user("x"), runtime_checkpoint={"phase": "awaiting_tools"}, pending_user_turn=True)
    theirs = talk(ASK, title="t")
    assert state(merge(talk(ASK), ours, theirs)[0]) == {"title": "t"}
    assert state(merge(talk(ASK), None, ours)[0]) == {}


def test_the_state_of_a_provider_stays_only_with_the_messages_it_was_made_for() -> None:
    private = file_of({"_type": "provider_state", "x": 1})
    ours = talk(ASK, user("x")) + private
    assert b"provider_state" in (merge(talk(ASK), ours, talk(ASK, title="t"))[0] or b"")
    assert b"provider_state" not in (merge(talk(ASK), ours, talk(ASK, user("y")))[0] or b"")


def test_damaged_lines_stay_where_they_were_and_are_not_counted() -> None:
    base = talk(ASK, mark=1) + b"not json\n"
    ours, theirs = (
        base + file_of(user("mine", timestamp=at(3))),
        base + file_of(user("other", timestamp=at(4))),
    )
    data, _ = merge(base, ours, theirs)
    assert (data or b"").split(b"\n")[2] == b"not json"
    assert session.parse(data or b"").last_consolidated == 1
    assert texts(data) == ["ask", "mine", "other"]


def test_a_new_turn_with_used_ids_is_not_taken_for_the_removed_one() -> None:
    other = {**CALLS, "content": "again", "timestamp": at(6)}
    theirs = talk(user("next", timestamp=at(5)), other, tool("A", "3"), tool("B", "4"))
    assert texts(merge(talk(ASK, CALLS, tool("A"), tool("B")), None, theirs)[0]) == [
        "next",
        "again",
        "3",
        "4",
    ]


def test_an_interrupted_result_never_replaces_a_real_one() -> None:
    stub = "Error: Task interrupted before this tool finished."
    base = talk(ASK, CALLS, tool("A", "real"), tool("B", "real"))
    ours = talk(ASK, CALLS, tool("A", stub), tool("B", "real"))
    assert texts(merge(base, ours, talk(ASK, CALLS, tool("A", "real"), tool("B", "real"), user("x")))[0]) == [
        *("ask", "", "real", "real", "x")
    ]
