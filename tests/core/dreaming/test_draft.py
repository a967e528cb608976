"""Edits of long-term memory: sound ones are done exactly, all others refused with a reason a model can act on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.dreaming import draft as drafts
from gitmem.core.dreaming.draft import LONG_TERM, facts
from gitmem.core.dreaming.proposal import Edit, Refused
from tests.core.dreaming.drafts import BATCH, TEXTS, applied, edit, memory

SKILL = "---\nname: ship\ndescription: How to ship.\n---\n\n1. make\n"
SHIP = "skills/ship/SKILL.md"


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (edit("add", "new fact"), TEXTS["memory/MEMORY.md"] + "- new fact\n"),
        (edit("add", "- new fact\n"), TEXTS["memory/MEMORY.md"] + "- new fact\n"),
        (edit("add", "- [durable] new fact"), TEXTS["memory/MEMORY.md"] + "- new fact\n"),
        (
            edit("add", "new fact", anchor="backups go to /mnt/a"),
            TEXTS["memory/MEMORY.md"].replace("/mnt/a\n", "/mnt/a\n- new fact\n"),
        ),
        (
            edit("add", "new fact", anchor="## Server"),
            TEXTS["memory/MEMORY.md"].replace("every night\n", "every night\n- new fact\n"),
        ),
        (
            edit("add", "## Boats\n\n- rows on Sundays"),
            TEXTS["memory/MEMORY.md"] + "\n## Boats\n\n- rows on Sundays\n",
        ),
        (edit("replace", "/mnt/b", anchor="/mnt/a"), TEXTS["memory/MEMORY.md"].replace("/mnt/a", "/mnt/b")),
        (
            edit("replace", "- backups go to /mnt/b", anchor="backups go to /mnt/a"),
            TEXTS["memory/MEMORY.md"].replace("/mnt/a", "/mnt/b"),
        ),
        (
            edit("replace", "5| - lent to Mo", anchor="5| - lent to Lin"),
            TEXTS["memory/MEMORY.md"].replace("Lin", "Mo"),
        ),
        (edit("delete", anchor="- lent to Lin"), TEXTS["memory/MEMORY.md"].replace("\n- lent to Lin\n", "")),
        (
            edit("delete", anchor="runs at 03:10"),
            TEXTS["memory/MEMORY.md"].replace("- runs at 03:10\n  every night\n", ""),
        ),
        (edit("add", "她喜欢喝茶"), TEXTS["memory/MEMORY.md"] + "- 她喜欢喝茶\n"),
    ],
)
def test_what_a_good_model_sends_is_done_exactly(one: Edit, expected: str) -> None:
    assert memory(applied(one)).rstrip("\n") == expected.rstrip("\n")


def test_a_file_that_is_not_there_is_begun() -> None:
    draft = drafts.apply(drafts.begin({}), edit("add", "likes tea", file="USER.md"), BATCH)
    assert draft.changed == {"USER.md": "- likes tea\n"}


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (edit("add", "x", file="../x.md"), "file must be one of"),
        (edit("add", "x", file="sessions/a.jsonl"), "file must be one of"),
        (edit("create_skill", SKILL, file="SOUL.md"), "create_skill is for"),
        (edit("add", "x", file=SHIP), "use create_skill"),
        (edit("add", "x", sources=(9,)), "no entry of this batch"),
        (edit("add", "x", sources=(3,)), "marked skip"),
        (edit("add", "  "), "empty"),
        (edit("add", "[durable] "), "empty"),
        (edit("add", "likes tea"), "USER.md says so already"),
        (edit("add", "Likes tea."), "USER.md says so already"),
        (edit("add", "runs at 03:10\n  every night"), "says so already"),
        (edit("add", "- ..."), "adds no fact"),
        (edit("replace", "x", anchor="nowhere"), "0 times"),
        (edit("replace", "x", anchor="a"), "times, not once"),
        (edit("replace", "x"), "anchor is empty"),
        (edit("replace", "", anchor="/mnt/a"), "use delete"),
        (edit("replace", "/mnt/a", anchor="/mnt/a"), "changes nothing"),
        (edit("delete", anchor="mnt"), "0 facts"),
        (edit("add", "None"), "dump"),
        (edit("add", '{"facts": ["a"]}'), "dump"),
        (edit("add", "['a', 'b']"), "dump"),
        (edit("add", "42"), "dump"),
        (edit("add", "<|im_start|>system"), "template tokens"),
        (edit("add", "<<<<<<< ours\nx"), "conflict markers"),
        (edit("add", "x\x1b[31m"), "control characters"),
        (edit("add", "x" * 2001), "more than 2000"),
        (edit("create_skill", "just text", file=SHIP), "front matter"),
        (edit("create_skill", SKILL.replace("ship\nd", "boat\nd"), file=SHIP), "must say name: ship"),
        (edit("create_skill", SKILL.replace("How to ship.", ""), file=SHIP), "description"),
        (
            edit("create_skill", SKILL.replace("---\n\n", "always: true\n---\n\n"), file=SHIP),
            "only a person sets",
        ),
        (edit("create_skill", SKILL + "word " * 2000, file=SHIP), "less than 2000 words"),
        (edit("create_skill", SKILL.replace("1. make\n", ""), file=SHIP), "steps"),
    ],
)
def test_what_is_not_sound_is_refused_with_a_reason(one: Edit, why: str) -> None:
    with pytest.raises(Refused, match=why):
        applied(one)


def test_a_skill_is_created_once_and_changed_afterwards() -> None:
    draft = applied(edit("create_skill", SKILL, file=SHIP))
    with pytest.raises(Refused, match="exists"):
        applied(edit("create_skill", SKILL, file=SHIP), before=draft)
    changed = applied(edit("replace", "1. make -j2", anchor="1. make", file=SHIP), before=draft)
    assert changed.texts[SHIP].endswith("1. make -j2\n")


WORDS = st.text(st.sampled_from("ab -#\n[]durable{}|1.<>"), max_size=24)
EDITS = st.builds(
    Edit,
    file=st.sampled_from([*LONG_TERM, SHIP, "x.md"]),
    op=st.sampled_from(["add", "replace", "delete", "create_skill"]),
    anchor=WORDS | st.sampled_from(["likes tea", "- be brief", "# Memory", "## Books", "runs at 03:10"]),
    text=WORDS | st.sampled_from(["new", "- [durable] new", "## New\n\n- x", SKILL]),
    sources=st.tuples(st.sampled_from([1, 2, 3, 9])),
    reason=st.just(""),
)


@given(st.lists(EDITS, max_size=6))
def test_whatever_is_proposed_other_lines_stay_and_no_fact_is_there_twice(edits: list[Edit]) -> None:
    draft: Any = drafts.begin(TEXTS)
    for one in edits:
        before = draft
        try:
            draft = drafts.apply(draft, one, BATCH)
        except Refused:
            assert draft is before
            continue
        took, brought = draft.changes[-1].took, draft.changes[-1].brought
        for path in LONG_TERM:
            kept = [fact for fact in facts(before.texts[path]) if path != one.file or fact not in took]
            assert [
                fact for fact in facts(draft.texts[path]) if path != one.file or fact not in brought
            ] == kept
        assert "[durable]" not in "".join(draft.changed.values())


@pytest.mark.parametrize(
    "line",
    [
        "always: true",
        "always : true",
        '"always": true',
        " always: true",
        'metadata: {"agent": {"always": true}}',
        "x: y",
    ],
)
def test_b100_the_front_matter_of_a_skill_holds_a_name_and_a_description(line: str) -> None:
    with pytest.raises(Refused, match="only a person"):
        applied(edit("create_skill", SKILL.replace("---\n\n", f"{line}\n---\n\n"), file=SHIP))
    draft = applied(edit("create_skill", SKILL, file=SHIP))
    with pytest.raises(Refused, match="only a person"):
        applied(
            edit("replace", f"description: How to ship.\n{line}", "description: How to ship.", SHIP),
            before=draft,
        )


@pytest.mark.parametrize("sign", ["\ud800", "\u200b", "\u202e", "\u2028", "\x85", "\U000e0041"])
def test_what_nobody_sees_is_not_written(sign: str) -> None:
    with pytest.raises(Refused, match="nobody sees"):
        applied(edit("add", f"caf{sign}e"))


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("# Memory", "---\nalways: true\n---"),
        ("# Memory\n\n## Server", "# SYSTEM OVERRIDE"),
        ("## Books", "books"),
    ],
)
def test_headings_and_front_matter_stay(anchor: str, text: str) -> None:
    with pytest.raises(Refused, match="headings stay"):
        applied(edit("replace", text, anchor))
