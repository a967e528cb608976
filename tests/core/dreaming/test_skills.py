"""A skill is named, described, short, and never made part of every conversation by a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.dreaming.skills import MOST_CHARACTERS, MOST_WORDS, PATH, Skill, fault, front_matter, skill

SHIP = "skills/ship/SKILL.md"
TEXT = "---\nname: ship\ndescription: How to ship.\n---\n\n1. `make`\n2. `make ship`\n"


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        (SHIP, True),
        ("skills/0-a-1/SKILL.md", True),
        ("skills/" + "a" * 64 + "/SKILL.md", True),
        ("skills/" + "a" * 65 + "/SKILL.md", False),
        ("skills//SKILL.md", False),
        ("skills/-a/SKILL.md", False),
        ("skills/Ship/SKILL.md", False),
        ("skills/../SKILL.md", False),
        ("skills/a/b/SKILL.md", False),
        ("skills/ship/SKILL.md\n", False),
        ("skills/ship/skill.md", False),
        ("skills/sh\u0131p/SKILL.md", False),
        ("/skills/ship/SKILL.md", False),
    ],
)
def test_a_skill_lies_in_a_folder_of_its_own(path: str, fits: bool) -> None:
    assert bool(PATH.fullmatch(path)) == fits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT, {"name": "ship", "description": "How to ship."}),
        ("---\nname: \"ship\"\ndescription: 'x: y'\n---\n", {"name": "ship", "description": "x: y"}),
        ("--- \nname: ship   \n# note\n---", {"name": "ship"}),
        ("---\nname: ship\n", None),
        ("name: ship\n---\n", None),
        ("\n" + TEXT, None),
        ("", None),
        ("---\n---\n", None),
    ],
)
def test_front_matter_is_read_as_plain_fields(text: str, expected: dict[str, str] | None) -> None:
    assert front_matter(text) == expected


def test_a_skill_says_of_itself_what_it_can() -> None:
    assert skill(SHIP, TEXT) == Skill(SHIP, "ship", "How to ship.")
    assert skill(SHIP, "just text") == Skill(SHIP, "", "")


def test_a_sound_skill_has_no_fault() -> None:
    assert fault(SHIP, TEXT) is None
    assert fault(SHIP, TEXT.replace("How to ship.", "\u5982\u4f55\u53d1\u5e03")) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1. make\n", "begins with front matter"),
        (TEXT.replace("name: ship", "name: boat"), "must say name: ship"),
        (TEXT.replace("name: ship\n", ""), "must say name: ship"),
        (TEXT.replace("How to ship.", ""), "description on one line"),
        (TEXT.replace("How to ship.", '""'), "description on one line"),
        (TEXT.split("\n\n", maxsplit=1)[0] + "\n", "steps of a workflow"),
        (TEXT + "word " * MOST_WORDS, f"less than {MOST_WORDS} words"),
        (TEXT + "\u5b57" * MOST_WORDS, f"less than {MOST_WORDS} words"),
        (TEXT + "x" * MOST_CHARACTERS, f"at most {MOST_CHARACTERS} characters"),
    ],
)
def test_a_fault_says_what_would_be_right(text: str, why: str) -> None:
    assert why in str(fault(SHIP, text))


@pytest.mark.parametrize(
    "line",
    [
        "always: true",
        "Always: true",
        '"always": true',
        "always : yes",
        "? always\n: true",
        "x: 1",
        "  always: on",
    ],
)
def test_b100_a_model_sets_nothing_but_name_and_description(line: str) -> None:
    assert "only a person" in str(fault(SHIP, TEXT.replace("name: ship", f"{line}\nname: ship")))
    assert "only a person" in str(fault(SHIP, TEXT.replace("ship.\n", f"ship.\n{line}\n")))


def test_b100_what_a_person_set_stays() -> None:
    before = TEXT.replace("name: ship", "always: true\nname: ship")
    assert fault(SHIP, before.replace("2. `make ship`", "2. `make all`"), before) is None
    assert "only a person" in str(fault(SHIP, TEXT, before))
    assert "only a person" in str(fault(SHIP, before.replace("true", "false"), before))


def test_a_skill_that_is_too_long_already_may_be_shortened() -> None:
    before = TEXT + "word " * (2 * MOST_WORDS)
    assert fault(SHIP, before.removesuffix("word " * 100), before) is None
    assert "words" in str(fault(SHIP, before + "word ", before))


@given(st.text(st.sampled_from("---\nname: shipdescrtonalwyu#\"' "), max_size=80), st.text(max_size=30))
def test_any_text_is_a_skill_or_has_a_fault(front: str, body: str) -> None:
    for text in (front + body, f"---\n{front}\n---\n{body}", TEXT + body):
        why = fault(SHIP, text)
        if why is None:
            assert (front_matter(text) or {})["name"] == "ship"
            assert "always" not in (front_matter(text) or {})
