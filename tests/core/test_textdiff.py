from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.model import MODE_EXECUTABLE, MODE_FILE, MODE_SYMLINK, Change, File
from gitmem.core.printable import decode, printable
from gitmem.core.textdiff import quoted, split_lines, stat, unified, unified_bytes


def change(old: bytes | None, new: bytes | None, path: str = "memory/MEMORY.md") -> Change:
    return Change(path, None if old is None else File(old), None if new is None else File(new))


def test_an_edit_looks_as_git_shows_it() -> None:
    text = unified(
        change(b"# Facts\n- likes tea\n- lives in Delft\n", b"# Facts\n- likes coffee\n- lives in Delft\n")
    )
    assert text == (
        "diff --git a/memory/MEMORY.md b/memory/MEMORY.md\n"
        "--- a/memory/MEMORY.md\n"
        "+++ b/memory/MEMORY.md\n"
        "@@ -1,3 +1,3 @@\n"
        " # Facts\n"
        "-- likes tea\n"
        "+- likes coffee\n"
        " - lives in Delft\n"
    )


def test_new_and_removed_files_name_their_mode_and_dev_null() -> None:
    assert unified(change(None, b"a\n", "USER.md")) == (
        "diff --git a/USER.md b/USER.md\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/USER.md\n@@ -0,0 +1 @@\n+a\n"
    )
    assert "deleted file mode 100644\n--- a/USER.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" in unified(
        change(b"a\n", None, "USER.md")
    )


def test_an_empty_new_file_has_only_its_header() -> None:
    assert unified(change(None, b"", "x")) == "diff --git a/x b/x\nnew file mode 100644\n"


def test_a_mode_change_alone_has_no_hunk() -> None:
    text = unified(Change("run.sh", File(b"x\n", MODE_FILE), File(b"x\n", MODE_EXECUTABLE)))
    assert text == "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"


def test_a_file_that_became_a_link_is_a_removal_and_an_addition() -> None:
    text = unified(Change("x", File(b"data\n"), File(b"target", MODE_SYMLINK)))
    assert text.count("diff --git") == 2
    assert "deleted file mode 100644" in text
    assert "new file mode 120000" in text


def test_a_missing_last_newline_is_said_on_the_side_where_it_is_missing() -> None:
    assert unified(change(b"a", b"a\n", "x")).endswith("-a\n\\ No newline at end of file\n+a\n")
    assert unified(change(b"a\n", b"a\nb", "x")).endswith(" a\n+b\n\\ No newline at end of file\n")


def test_b18_line_separators_inside_a_line_do_not_break_it() -> None:
    old, new = 'x "a\u2028b\u0085c\x0bd"\n'.encode(), 'y "a\u2028b\u0085c\x0bd"\n'.encode()
    diff = unified_bytes(change(old, new, "sessions/a.jsonl"))
    assert b"@@ -1 +1 @@\n-" + old + b"+" + new in diff
    assert unified(change(old, new)).count("\n") == 6


def test_binary_files_are_named_with_their_sizes() -> None:
    text = unified(change(b"\x00\x01", b"\x00\x01\x02", "a.png"))
    assert text.endswith("Binary files a/a.png and b/a.png differ (2 -> 3 bytes)\n")
    assert "(none -> 2 bytes)" in unified(change(None, b"\x00\x01", "a.png"))
    counted = stat(change(b"\x00\x01", b"\x00\x01\x02", "a.png"))
    assert (counted.binary, counted.added, counted.old_size, counted.new_size) == (True, 0, 2, 3)


def test_stat_counts_lines() -> None:
    counted = stat(change(b"a\nb\nc\n", b"a\nx\ny\nc\n"))
    assert (counted.added, counted.removed, counted.binary) == (2, 1, False)


def test_the_text_for_people_cannot_command_a_terminal() -> None:
    hostile = b"\x1b]0;owned\x07 \x9b31m \xe2\x80\xae gnp.exe\r\n\xff\n"
    text = unified(change(None, hostile))
    assert "\\x1b]0;owned\\x07" in text
    assert "\\x9b31m" in text
    assert "\\u202e" in text
    assert "\\r" in text or "\\x0d" in text
    assert "\\xff" in text
    assert b"+" + hostile.split(b"\n")[0] in unified_bytes(change(None, hostile))


def test_printable_keeps_ordinary_text_of_every_language() -> None:
    text = "tab\tnewline\n中文 عربى emoji 👩‍👩‍👧 ok"
    assert printable(text) == text
    assert decode(text.encode()) == text
    assert printable("caf\udce9") == "caf\\xe9"


def test_paths_are_quoted_where_a_patch_program_would_stumble() -> None:
    assert quoted("memory/我的.md") == "memory/我的.md"
    assert quoted('a"b\n') == '"a\\"b\\n"'
    assert quoted("caf\udce9") == '"caf\\351"'
    assert "+++ b/my notes.md\t\n" in unified(change(None, b"x\n", "my notes.md"))


@given(st.binary(max_size=200))
def test_splitting_loses_no_byte(data: bytes) -> None:
    assert b"".join(split_lines(data)) == data


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_can_be_shown(old: bytes, new: bytes) -> None:
    text = unified(change(old, new))
    assert text.encode("utf-8")
    assert unified_bytes(change(old, new)).count(b"@@ -") <= 1 + old.count(b"\n") + new.count(b"\n")
