import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.filedelta import file_delta, size
from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, Change, File


def told(old: bytes | File | None, new: bytes | File | None, path: str = "memory/MEMORY.md") -> str:
    before, after = (File(value) if isinstance(value, bytes) else value for value in (old, new))
    return file_delta(Change(path, before, after)).told()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\nb\n", b"a\nc\nd\n", "+2 -1"),
        (b"a\n", b"a\nb\n", "+1"),
        (b"a\nb\n", b"b\n", "-1"),
        (b"a", b"a\nb\n", "+1"),
        (None, b"a\nb\n", "new, +2"),
        (None, b"", "new, empty"),
        (b"a\nb\n", None, "removed, -2"),
        (b"a\nb\n", b"", "emptied, -2"),
        (b"a\nb\n", b"b\na\n", "lines moved"),
        (b"a\nb\n", b"a\r\nb\r\n", "white space"),
        (b"a", b"a\n", "white space"),
        (b"16", b"17\n", "16 -> 17"),
        (None, b"\0" * 1500, "new, 1.5 kB"),
        (b"\0" * 1500, b"\0" * 3_000_000, "1.5 kB -> 3.0 MB"),
        (b"\0a", b"\0b", "2 bytes"),
        (b"text\n", b"\0", "5 bytes -> 1 byte"),
        (b"\0", None, "removed"),
    ],
)
def test_what_changed_in_few_words(old: bytes | None, new: bytes | None, expected: str) -> None:
    assert told(old, new) == expected


def test_modes_and_links() -> None:
    plain, program = File(b"a\n"), File(b"a\n", MODE_EXECUTABLE)
    link = File(b"../elsewhere", MODE_SYMLINK)
    assert told(plain, program) == "now executable"
    assert told(program, plain) == "no longer executable"
    assert told(None, link) == "link to ../elsewhere"
    assert told(plain, link) == "link to ../elsewhere"
    assert told(link, plain) == "no longer a link, 2 bytes"


def test_sizes_as_a_person_says_them() -> None:
    assert [size(count) for count in (0, 1, 999, 1000, 999_949, 5_242_880)] == [
        "0 bytes",
        "1 byte",
        "999 bytes",
        "1.0 kB",
        "999.9 kB",
        "5.2 MB",
    ]


files = st.none() | st.builds(
    File, st.binary(max_size=60), st.sampled_from([MODE_FILE, MODE_EXECUTABLE, MODE_SYMLINK])
)


@given(files, files)
def test_any_two_versions_give_words_without_an_exception(old: File | None, new: File | None) -> None:
    assert told(old, new)


@given(st.lists(st.sampled_from([b"a", b"b", b"c"])), st.lists(st.sampled_from([b"a", b"b", b"c"])))
def test_lines_are_counted_from_both_sides_alike(one: list[bytes], other: list[bytes]) -> None:
    old, new = (File(b"".join(line + b"\n" for line in lines)) for lines in (one, other))
    there, back = file_delta(Change("a.md", old, new)), file_delta(Change("a.md", new, old))
    assert (there.added, there.removed) == (back.removed, back.added)
    assert len(one) + there.added - there.removed == len(other)
