"""Markdown is cut into units and put together again without the loss of a byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.core.markdown import UnitKind, facts, parse, render
from tests.core.merge.versions import LINES

ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b""])


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.tuples(LINES | st.binary(max_size=6), ENDS)), st.sampled_from([b"", b"\xef\xbb\xbf", b"\0"])
)
def test_any_bytes_come_back(lines: list[tuple[bytes, bytes]], start: bytes) -> None:
    data = start + b"".join(line + end for line, end in lines)
    assert render(parse(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\r\n",
        b"\r",
        b"a",
        b"a\n ",
        b"a\r\n\r\nb",
        b"a\rb\rc",
        b"\xef\xbb\xbf# T\n",
        b"---\n",
        b"---\nname: x\n---\n\n\n# T\n",
        "a\u2028b\u0085c\n".encode(),
        b"\xff\xfe\0a\0\n\0",
        b"```\nnever closed\n\n# T\n",
    ],
)
def test_odd_files_come_back(data: bytes) -> None:
    assert render(parse(data)) == data


def kinds(data: bytes) -> list[tuple[UnitKind, bytes]]:
    return [(unit.kind, unit.text) for unit in parse(data).units]


def test_units_are_what_a_person_would_call_one_thing() -> None:
    data = b"""\
---
name: x
---
# Title
Some words
and more.

- one
  goes on
  - below
1. first
- two
back at the margin
```sh
# no heading

- no item
```
"""
    assert kinds(data) == [
        (UnitKind.FRONT, b"---\nname: x\n---"),
        (UnitKind.HEADING, b"# Title"),
        (UnitKind.PARAGRAPH, b"Some words\nand more."),
        (UnitKind.ITEM, b"- one\n  goes on"),
        (UnitKind.ITEM, b"  - below"),
        (UnitKind.ITEM, b"1. first"),
        (UnitKind.ITEM, b"- two"),
        (UnitKind.PARAGRAPH, b"back at the margin"),
        (UnitKind.FENCE, b"```sh\n# no heading\n\n- no item\n```"),
    ]


def test_blank_lines_belong_to_the_unit_behind_them() -> None:
    document = parse(b"\n# T\n \n\n- a\n\n")
    assert [unit.gap for unit in document.units] == [b"\n", b" \n\n"]
    assert document.tail == b"\n"


def test_a_fence_ends_with_its_own_kind_and_length() -> None:
    assert [kind for kind, _ in kinds(b"~~~\n```\n~~~\n````\n```\n````\n")] == [
        UnitKind.FENCE,
        UnitKind.FENCE,
    ]


def test_a_fence_that_is_never_closed_is_text_and_hides_nothing() -> None:
    assert kinds(b"```\n- a\n\n# T\n") == [
        (UnitKind.PARAGRAPH, b"```"),
        (UnitKind.ITEM, b"- a"),
        (UnitKind.HEADING, b"# T"),
    ]


def test_windows_files_have_the_same_units() -> None:
    data = b"# T\n\n- a\n  b\n"
    assert kinds(data.replace(b"\n", b"\r\n")) == kinds(data)
    assert parse(data.replace(b"\n", b"\r\n")).crlf


def test_b18_lines_end_at_lf_only() -> None:
    assert kinds("- a\u2028- b\x0c- c\n- d\n".encode()) == [
        (UnitKind.ITEM, "- a\u2028- b\x0c- c".encode()),
        (UnitKind.ITEM, b"- d"),
    ]


def test_b74_signs_that_look_like_conflict_markers_are_text() -> None:
    assert kinds(b"Memory\n=======\n\n```\n<<<<<<< in an example\n```\n") == [
        (UnitKind.PARAGRAPH, b"Memory\n======="),
        (UnitKind.FENCE, b"```\n<<<<<<< in an example\n```"),
    ]


def test_facts_are_items_and_paragraphs() -> None:
    data = b"# T\n- likes tea \n  with milk\n12) second\nA paragraph.\n```\ncode\n```\n\xff\n"
    assert facts(data) == ("likes tea \n  with milk", "second", "A paragraph.", "\ufffd")


def test_many_openings_without_an_end_take_no_quadratic_time() -> None:
    assert len(parse(b"```a\n" * 50_000).units) == 1
