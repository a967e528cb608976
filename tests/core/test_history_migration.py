"""The old history file becomes entries, and nothing of it is lost."""

import re

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import history
from gitmem.core.history_migration import migrated

UNDATED = "2026-01-01 00:00"


def entries(markdown: str) -> list[tuple[int, str, str]]:
    parsed = history.parse(migrated(markdown.encode(), UNDATED))
    assert not parsed.problems
    return [(entry.cursor, entry.timestamp, entry.content) for entry in parsed.entries]


def test_each_dated_paragraph_is_an_entry() -> None:
    text = "# History\n\n[2025-11-02 08:15] likes tea\nand cake\n\n[2025-11-03T09:00:30] moved\n- to Oslo\n"
    assert entries(text) == [
        (1, UNDATED, "# History"),
        (2, "2025-11-02 08:15", "likes tea\nand cake"),
        (3, "2025-11-03 09:00", "moved\n- to Oslo"),
    ]


def test_messages_inside_a_raw_paragraph_stay_in_it() -> None:
    raw = "[RAW] 2 messages\n[2025-11-02 08:15] USER: hi\n[2025-11-02 08:16] ASSISTANT [tools: exec]: yo"
    text = f"[2025-11-02 08:20] {raw}\n\n[2025-11-03 09:00] done\n"
    assert entries(text) == [(1, "2025-11-02 08:20", raw), (2, "2025-11-03 09:00", "done")]


def test_old_files_with_crlf_a_byte_order_mark_or_nothing_in_them() -> None:
    assert entries("\ufeff[2025-11-02 08:15] a\r\nb\r\n") == [(1, "2025-11-02 08:15", "a\nb")]
    assert entries("") == entries("\n\n[2025-11-02 08:15]\n") == []


def test_text_too_long_for_an_entry_goes_on_in_the_next() -> None:
    found = entries("[2025-11-02 08:15] " + "x" * 70_000)
    assert [(cursor, len(content)) for cursor, _, content in found] == [(1, 64_000), (2, 6_000)]


@given(
    st.lists(st.sampled_from(["[2025-11-02 08:15] ", "[RAW] ", "USER: ", "é", "\n", "\n\n", "["]) | st.text())
)
def test_no_word_of_an_old_history_is_lost(parts: list[str]) -> None:
    text = "".join(parts).encode("utf-8", "replace").decode()
    kept = "\n".join(content for _, _, content in entries(text))
    dates = r"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\]\n]*\]"
    assert not set(re.findall(r"\w+", re.sub(dates, " ", text))) - set(re.findall(r"\w+", kept))
