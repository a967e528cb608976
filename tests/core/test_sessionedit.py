"""Two saves of one session: what both sides said, with the run state of the side that changed it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.session import parse
from gitmem.core.sessionedit import combined
from tests.engines import said, session_bytes

KEY = "k:x"
CALLING = {"runtime_checkpoint": {"phase": "awaiting_tools"}}
ANSWERED = {"runtime_checkpoint": {"phase": "final_response"}}


def version(count: int, **state: Any) -> bytes:
    return session_bytes(KEY, [said(number) for number in range(count)], **state)


@pytest.mark.parametrize(
    ("base", "disk", "mine", "left"),
    [
        ({}, CALLING, {}, CALLING),
        ({}, {}, CALLING, CALLING),
        (CALLING, {}, CALLING, {}),
        (CALLING, CALLING, {}, {}),
        (CALLING, ANSWERED, CALLING, ANSWERED),
        (CALLING, ANSWERED, ANSWERED, ANSWERED),
        ({}, {"pending_user_turn": True}, {}, {"pending_user_turn": True}),
    ],
)
def test_run_state_is_that_of_the_side_that_changed_it(
    base: dict[str, Any], disk: dict[str, Any], mine: dict[str, Any], left: dict[str, Any]
) -> None:
    data = combined(KEY, version(1, **base), version(2, **disk), version(1, title="t", **mine))
    assert data is not None
    assert parse(data).state == {"title": "t", **left}
    assert len(parse(data).messages) == 2


def test_two_run_states_are_not_mixed() -> None:
    assert combined(KEY, version(1), version(1, **CALLING), version(1, **ANSWERED)) is None


def test_the_half_of_a_file_is_no_version() -> None:
    assert combined(KEY, version(2), version(2)[:-5], version(3)) is None
    assert combined(KEY, version(2), b"", version(3)) is None


def test_private_state_of_a_provider_stays_with_the_list_it_is_bound_to() -> None:
    private = b'{"_type": "provider_state", "blob": 1}\n'
    renamed = combined(
        KEY, version(2) + private, version(2, title="t") + private, version(2, goal="g") + private
    )
    assert renamed is not None
    assert private in renamed
    mine = session_bytes(KEY, [said(0), said(1), said(7)]) + private
    longer = combined(KEY, version(2) + private, version(3) + private, mine)
    assert longer is not None
    assert private not in longer


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_give_a_file_or_none(base: bytes, disk: bytes, mine: bytes) -> None:
    assert isinstance(combined(KEY, base, disk, mine), bytes | None)
