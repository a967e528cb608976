"""What a writer knew, told from what it wrote: in doubt, the least."""

from gitmem.core.merge.evidence import known_version
from gitmem.core.model import PathClass
from tests.engines import said, session_bytes

OLD, NEW = b"# M\n\n- a\n", b"# M\n\n- a\n\n## Travel\n\n- x\n- y\n"


def known(new: bytes | None, *versions: bytes | None) -> int:
    return known_version(PathClass.MEMORY, "memory/MEMORY.md", versions, new)


def test_who_repeats_most_of_what_is_new_knew_it() -> None:
    assert known(NEW + b"- z\n", OLD, NEW) == 1
    assert known(b"# M\n\n- a\n\n## Travel\n\n- y\n", OLD, NEW) == 1
    assert known(NEW, OLD, NEW) == 1


def test_a_heading_or_one_line_of_several_that_is_the_same_is_no_sign() -> None:
    assert known(b"# M\n\n- a\n\n## Travel\n\n- mine\n", OLD, NEW) == 0
    assert known(b"# M\n\n- a\n- x\n", OLD, b"# M\n\n- a\n- x\n- y\n- z\n") == 0


def test_a_message_without_a_time_is_no_sign() -> None:
    old = session_bytes("k:x", [said(0)])
    new = session_bytes(
        "k:x", [said(0), {"role": "user", "content": "continue"}, {"role": "assistant", "content": "ok"}]
    )
    mine = session_bytes("k:x", [said(0), {"role": "user", "content": "continue"}])
    assert known_version(PathClass.SESSION, "sessions/k_x.jsonl", (old, new), mine) == 0


def test_a_removal_is_meant_for_what_is_there() -> None:
    assert known(None, OLD, NEW) == 1
