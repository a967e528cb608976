"""Is a file ready? Moments in a writer's work wait; everything else is taken as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import checkpoint
from gitmem.core.model import MODE_EXECUTABLE, MODE_SYMLINK, File, PathClass
from gitmem.core.settled import Verdict, judge
from tests.core.conversations import assistant, file_of, metadata, user

CHECKPOINT = {"phase": "awaiting_tools", "iteration": 0}
PLAIN = file_of(metadata(), user("hello"))
RUNNING = file_of(metadata(runtime_checkpoint=CHECKPOINT, pending_user_turn=True), user("hello"))


def verdict(path_class: PathClass, old: bytes | None, disk: bytes) -> Verdict:
    return judge(path_class, None if old is None else File(old), File(disk)).verdict


@pytest.mark.parametrize("path_class", [kind for kind in PathClass if kind.versioned])
def test_a_file_truncated_to_nothing_waits_and_a_new_one_without_content_does_not(
    path_class: PathClass,
) -> None:
    assert verdict(path_class, b"1", b"") is Verdict.WAIT
    if path_class is not PathClass.CURSOR:
        assert verdict(path_class, None, b"") is Verdict.TAKE
        assert verdict(path_class, b"", b"") is Verdict.TAKE


def test_a_link_is_taken_whatever_its_target_looks_like() -> None:
    for path_class in PathClass:
        link = File(b"", MODE_SYMLINK)
        assert judge(path_class, File(b"text"), link).verdict is Verdict.TAKE
        assert judge(path_class, None, link).file is link


@pytest.mark.parametrize("path_class", [PathClass.SESSION, PathClass.HISTORY])
@pytest.mark.parametrize("tail", [b'{"role": "us', b'{"cursor": 3, "content": "a', b"{"])
def test_a_torn_last_line_waits(path_class: PathClass, tail: bytes) -> None:
    assert verdict(path_class, PLAIN, PLAIN + tail) is Verdict.WAIT
    assert verdict(path_class, None, tail) is Verdict.WAIT


@pytest.mark.parametrize("path_class", [PathClass.SESSION, PathClass.HISTORY])
def test_a_whole_last_line_without_a_line_feed_is_no_torn_one(path_class: PathClass) -> None:
    assert verdict(path_class, None, PLAIN[:-1]) is Verdict.TAKE


def test_a_broken_line_in_the_middle_is_damage_and_is_kept() -> None:
    """No writer will come back to it: the damaged file belongs into history before anything rewrites it."""
    assert verdict(PathClass.SESSION, PLAIN, b'{"role": "us\n' + PLAIN) is Verdict.TAKE
    assert verdict(PathClass.HISTORY, None, b'{"cursor": 1\n{"cursor": 2}\n') is Verdict.TAKE


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        (b"17", Verdict.TAKE),
        (b"17\r\n", Verdict.TAKE),
        (b"\xef\xbb\xbf17\n", Verdict.TAKE),
        (b"", Verdict.WAIT),
        (b"\n", Verdict.WAIT),
        (b"seventeen", Verdict.WAIT),
        (b"\0\0", Verdict.WAIT),
    ],
)
def test_a_cursor_without_a_number_waits(disk: bytes, expected: Verdict) -> None:
    assert verdict(PathClass.CURSOR, None, disk) is expected


def test_markdown_is_never_torn() -> None:
    assert verdict(PathClass.MEMORY, b"- one\n", b"- o") is Verdict.TAKE


def test_a_save_of_run_state_alone_is_no_change_of_the_branch() -> None:
    later = RUNNING.replace(b"awaiting_tools", b"tools_completed").replace(b"10:30:00", b"10:30:01")
    for disk in (RUNNING, later):
        judged = judge(PathClass.SESSION, File(PLAIN), File(disk))
        assert judged.verdict is Verdict.RUN_STATE
        assert not checkpoint.has_run_state(judged.file.data)


def test_a_message_beside_the_run_state_is_a_change_and_goes_without_it() -> None:
    disk = RUNNING + file_of(assistant("answer"))
    judged = judge(PathClass.SESSION, File(PLAIN), File(disk))
    assert judged.verdict is Verdict.TAKE
    assert judged.file.data == checkpoint.strip(disk) != disk


def test_the_first_sight_of_a_session_is_taken_though_a_turn_is_running() -> None:
    assert verdict(PathClass.SESSION, None, RUNNING) is Verdict.TAKE


def test_another_mode_is_a_change_of_its_own() -> None:
    judged = judge(PathClass.SESSION, File(PLAIN), File(RUNNING, MODE_EXECUTABLE))
    assert judged.verdict is Verdict.TAKE
    assert judged.file.mode == MODE_EXECUTABLE


pieces = st.lists(
    st.sampled_from([PLAIN, RUNNING, b"\0", b"\xff", b'{"a": ', b"17", b"\n", b"\xef\xbb\xbf", b"[" * 3000])
).map(b"".join)


@given(st.sampled_from(list(PathClass)), st.none() | pieces | st.binary(), pieces | st.binary())
def test_any_bytes_are_judged_and_no_run_state_gets_onto_the_branch(
    path_class: PathClass, old: bytes | None, disk: bytes
) -> None:
    judged = judge(path_class, None if old is None else File(old), File(disk))
    if path_class is not PathClass.SESSION:
        assert judged.file == File(disk)
    elif judged.verdict is Verdict.TAKE and (disk or not old):
        assert judged.file.data == checkpoint.strip(disk)
