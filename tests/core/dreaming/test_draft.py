"""Edits of long-term memory: sound ones are done exactly, all others refused with a reason a model can act on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import markdown
from gitmem.core.dreaming import draft as drafts
from gitmem.core.dreaming.draft import LONG_TERM, Draft, facts
from gitmem.core.dreaming.proposal import Edit, Refused
from gitmem.core.markdown import UnitKind
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


NESTED = (
    "# Memory\n\nIntro of the file.\n\n## Server\n\n- disks:\n  - sda is old\n  - sdb is new\n- runs at 03:10\n\n\n"
    "## Rules\n\n1. ask first\n2. log it\n\n```sh\nmake\n```\n\n## Tea\n\n- green tea\n- green tea with milk\n"
)


def on(text: str, *edits: Edit) -> str:
    """MEMORY.md after edits."""
    draft = drafts.begin({"memory/MEMORY.md": text})
    for one in edits:
        draft = drafts.apply(draft, one, BATCH)
    return memory(draft)


@pytest.mark.parametrize(
    ("one", "old", "new"),
    [
        (edit("add", "fans are loud", "- disks:"), "sdb is new\n", "sdb is new\n- fans are loud\n"),
        (edit("add", "sdc is spare", "sda is old"), "sda is old\n", "sda is old\n  - sdc is spare\n"),
        (edit("add", "  - sdc is spare", "- disks:"), "sdb is new\n", "sdb is new\n  - sdc is spare\n"),
        (edit("add", "3. sign it", "2. log it"), "2. log it\n", "2. log it\n3. sign it\n"),
        (edit("add", "3. sign it", "## Rules"), "```\n", "```\n\n3. sign it\n"),
        (edit("add", "black tea", "## Tea"), "with milk\n", "with milk\n- black tea\n"),
        (edit("add", "black tea", "Tea"), "with milk\n", "with milk\n- black tea\n"),
        (edit("add", "black tea", "- green tea"), "- green tea\n", "- green tea\n- black tea\n"),
        (edit("add", "says hello", "Intro of the file."), "file.\n", "file.\n\n- says hello\n"),
        (
            edit("add", "### Disks\n\n- are full\n", "## Server"),
            "03:10\n\n\n",
            "03:10\n\n### Disks\n\n- are full\n\n",
        ),
        (edit("add", "3 cats live here", "- disks:"), "sdb is new\n", "sdb is new\n- 3 cats live here\n"),
        (edit("add", "**Owner**: Ana", "- disks:"), "sdb is new\n", "sdb is new\n- **Owner**: Ana\n"),
        (edit("add", "fans\r\n", "- disks:\r\n"), "sdb is new\n", "sdb is new\n- fans\n"),
        (edit("add", "- fans\n- lamps", "- disks:"), "sdb is new\n", "sdb is new\n- fans\n- lamps\n"),
        (edit("replace", "- white tea", "- green tea"), "- green tea\n", "- white tea\n"),
        (edit("replace", "white tea", "- green tea"), "- green tea\n", "- white tea\n"),
        (edit("replace", "- white tea", "green tea"), "- green tea\n", "- white tea\n"),
        (edit("replace", "white tea\n", "green tea\n"), "- green tea\n", "- white tea\n"),
        (edit("replace", "3. log all", "2. log it"), "2. log it", "3. log all"),
        (edit("replace", "- log all", "log it"), "2. log it", "2. log all"),
        (
            edit("replace", "- disks:\n  - both new", "- disks:\n  - sda is old\n  - sdb is new"),
            "- disks:\n  - sda is old\n  - sdb is new",
            "- disks:\n  - both new",
        ),
        (
            edit("replace", "- runs at 04:00\n  every day", "- runs at 03:10"),
            "runs at 03:10",
            "runs at 04:00\n  every day",
        ),
        (edit("replace", "04:00", "03:10"), "03:10", "04:00"),
        (edit("replace", "Start of the file.", "Intro of the file."), "Intro", "Start"),
        (edit("delete", anchor="green tea"), "- green tea\n", ""),
        (edit("delete", anchor="25| - green tea\n"), "- green tea\n", ""),
        (edit("delete", anchor="  - sda is old"), "  - sda is old\n", ""),
        (edit("delete", anchor="Intro of the file."), "Intro of the file.\n\n", ""),
        (edit("delete", anchor="1. ask first"), "1. ask first\n", ""),
    ],
)
def test_an_edit_does_what_its_writer_sees_before_them(one: Edit, old: str, new: str) -> None:
    assert NESTED.count(old) == 1 or old in ("- green tea\n", "Intro", "```\n")
    expected = (
        NESTED.replace(old, new, 1) if old != "```\n" else NESTED.replace("make\n```\n", f"make\n{new}")
    )
    assert on(NESTED, one) == expected


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (edit("replace", "- x", "green"), "times, not once; copy the whole line"),
        (edit("replace", "- sda is gone", "sda is"), "only a part of one; copy the whole line"),
        (edit("replace", "x", "## Server"), "headings stay"),
        (edit("replace", "x", "runs at 03:10\n\n\n## Rules"), "headings stay"),
        (edit("replace", "- x\n\n## New", "- runs at 03:10"), "headings stay"),
        (edit("replace", "## New\n\n- x", "runs at 03:10"), "not replaced by a heading"),
        (edit("replace", "- ?", "- runs at 03:10"), "adds no fact"),
        (edit("replace", "- log it", "- green tea"), "MEMORY.md says so already"),
        (edit("delete", anchor="- disks:"), "items below it"),
        (edit("delete", anchor="## Server"), "0 facts"),
        (edit("delete", anchor="make"), "0 facts"),
        (edit("delete", anchor="green"), "0 facts; not of one|0 facts"),
        (edit("delete"), "0 facts"),
        (edit("add", "## Tea\n\n- black tea"), "## Tea is there already; use it as anchor"),
        (edit("add", "- x\n- x"), "says so already"),
        (edit("add", "- x\n- Log it!"), "says so already"),
        (edit("add", "## New"), "adds no fact"),
        (edit("add", "- "), "empty|no fact"),
        (edit("add", "```", "Intro of the file."), "adds no fact|stands around it"),
        (edit("add", "- y\n\n```", "Intro of the file."), "stands around it"),
        (edit("add", "[dur[skip]able] x"), "marks such as"),
        (edit("add", "x", "nowhere"), "0 times"),
    ],
)
def test_what_would_spoil_a_file_is_refused_with_what_to_do_instead(one: Edit, why: str) -> None:
    with pytest.raises(Refused, match=why):
        on(NESTED, one)


def test_anchors_in_an_empty_file_are_told_from_wrong_ones() -> None:
    for text in ("", "\n"):
        with pytest.raises(Refused, match="the file is empty"):
            on(text, edit("add", "x", "# Memory"))
        assert on(text, edit("add", "x")) == "- x\n"


def test_a_new_section_may_be_begun_and_filled_by_later_edits() -> None:
    edits = [
        edit("add", "# Memory\n\n## Boats\n\n- rows"),
        edit("add", "sails", "## Boats"),
        edit("add", "swims", "- rows"),
    ]
    assert on("", *edits) == "# Memory\n\n## Boats\n\n- rows\n- swims\n- sails\n"


def test_a_fact_moves_when_it_is_deleted_first() -> None:
    there, here = edit("delete", anchor="likes tea", file="USER.md"), edit("add", "likes tea")
    with pytest.raises(Refused, match="deleting it there first"):
        applied(here, there)
    assert "likes tea" in memory(applied(there, here))


def test_the_blank_line_below_a_heading_survives_the_first_item() -> None:
    assert on("# M\n\n- a\n- b\n", edit("delete", anchor="a")) == "# M\n\n- b\n"
    assert on("intro\n\n- a\noutro\n", edit("delete", anchor="a")) == "intro\n\noutro\n"


def test_a_byte_order_mark_moves_nothing() -> None:
    assert (
        on("\ufeff# M\n\n- a\n\n# N\n\n- b\n", edit("add", "c", "a"))
        == "\ufeff# M\n\n- a\n- c\n\n# N\n\n- b\n"
    )


@pytest.mark.parametrize(
    "fact",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "क्\u200dष",
        "is a \U0001f469\u200d\U0001f4bb",
        "喜欢茶",
        "שלום",
    ],
)
def test_words_of_any_language_are_facts(fact: str) -> None:
    assert on("", edit("add", fact)) == f"- {fact}\n"


@pytest.mark.parametrize(
    "hidden",
    [
        "a\u200bb",
        "a\u200c\u200db",
        "a \u200db",
        "a\u200c",
        "a\u202eb",
        "a\u2066b",
        "a\u2028b",
        "a\x85b",
        "a\ufeffb",
        "\ud800",
        "a\u2060b",
        "a\U000e0041b",
    ],
)
def test_b100_what_nobody_sees_is_not_stored(hidden: str) -> None:
    with pytest.raises(Refused, match="nobody sees"):
        on("", edit("add", hidden))


def test_many_facts_take_no_long_time() -> None:
    text = "".join(f"- f{n}\n" for n in range(3000))
    assert on(
        text, edit("add", "new"), edit("replace", "- other", "- f77"), edit("delete", anchor="f8")
    ).endswith("- new\n")


LINES = [
    "# M",
    "## A",
    "- a",
    "- b c",
    "  - d",
    "    more",
    "* e.",
    "3. f",
    "para g",
    "para h",
    "```",
    "---",
    "茶",
    "- [x] i",
    "",
]
DOCUMENTS = st.lists(st.sampled_from(LINES), max_size=10).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
WORDS = st.text(st.sampled_from("abg -#\n[]durable{}|1.<>`"), max_size=16)


@st.composite
def attempts(draw: st.DrawFn, text: str) -> Edit:
    """An edit of MEMORY.md whose anchor is often in it."""
    lines = [line for line in text.split("\n") if line.strip()] or ["x"]
    line = draw(st.sampled_from(lines))
    anchor = draw(
        st.sampled_from([line, line.strip(), line.lstrip(" -*0123."), line[1:3], f"{line}\n", ""]) | WORDS
    )
    new = draw(
        st.sampled_from(
            ["new", "- [durable] new", "## New\n\n- x", "- y\n- z", "[skip[skip]] k", "- o\n  p", line]
        )
        | WORDS
    )
    return edit(draw(st.sampled_from(["add", "replace", "delete"])), new, anchor)


def said_twice(draft: Draft) -> set[str]:
    found = [
        " ".join(fact.casefold().split()).rstrip(".")
        for path in LONG_TERM
        for fact in facts(draft.texts.get(path, ""))
    ]
    return {fact for fact in found if found.count(fact) > 1 and any(map(str.isalnum, fact))}


def headings(text: str) -> list[str]:
    return [
        unit.text.decode() for unit in markdown.parse(text.encode()).units if unit.kind is UnitKind.HEADING
    ]


def spoken(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


@given(DOCUMENTS, DOCUMENTS, st.data())
def test_an_edit_is_refused_or_keeps_every_other_line(text: str, other: str, data: st.DataObject) -> None:
    draft = drafts.begin({"memory/MEMORY.md": text, "USER.md": other})
    for _ in range(data.draw(st.integers(1, 3))):
        one = data.draw(attempts(memory(draft)))
        before, old = draft, memory(draft)
        try:
            draft = drafts.apply(draft, one, BATCH)
        except Refused:
            continue
        change, new = draft.changes[-1], memory(draft)
        assert {path: kept for path, kept in draft.texts.items() if path != one.file} == {"USER.md": other}
        assert said_twice(draft) <= said_twice(before)
        assert "[durable]" not in new
        assert "[skip]" not in new
        if one.op == "add":
            assert not change.took
            assert _is_within(spoken(old), spoken(new))
        elif one.op == "delete":
            assert len(change.took) <= 1
            assert not change.brought
            assert _is_within(spoken(new), spoken(old))
        else:
            assert any(_is_cut_in(old, new, change.edit.anchor, place) for place in range(len(old)))
        assert _is_within(headings(old), headings(new))


def _is_cut_in(old: str, new: str, anchor: str, place: int) -> bool:
    """Whether a text came out of another one by replacing the anchor that stands at a place."""
    head, tail = old[:place], old[place + len(anchor) :]
    return old.startswith(anchor, place) and new.startswith(head) and new[place:].endswith(tail)


def _is_within(some: list[str], all_of_them: list[str]) -> bool:
    """Whether the lines stand there in the same order."""
    rest = iter(all_of_them)
    return all(line in rest for line in some)


ANYTHING = st.builds(
    Edit,
    file=st.sampled_from([*LONG_TERM, SHIP, "x.md"]),
    op=st.sampled_from(["add", "replace", "delete", "create_skill"]),
    anchor=WORDS | st.sampled_from(["likes tea", "- be brief", "# Memory", "## Books", "runs at 03:10"]),
    text=WORDS | st.sampled_from(["new", "- [durable] new", "## New\n\n- x", SKILL]),
    sources=st.tuples(st.sampled_from([1, 2, 3, 9])),
    reason=st.just(""),
)


@given(st.lists(ANYTHING, max_size=5))
def test_a_refused_edit_changes_nothing_and_others_only_their_file(edits: list[Edit]) -> None:
    draft = drafts.begin(TEXTS)
    for one in edits:
        before = draft
        try:
            draft = drafts.apply(draft, one, BATCH)
        except Refused:
            assert draft is before
            continue
        assert set(one.sources) <= {1, 2}
        assert {path for path in draft.texts if draft.texts[path] != before.texts.get(path)} == {one.file}
    assert draft.changed.keys() <= {*LONG_TERM, SHIP}
