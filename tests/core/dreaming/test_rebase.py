"""Edits of a file that a person edited meanwhile: both are there, or nothing is changed."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.dreaming.rebase import rebased
from gitmem.core.model import MODE_EXECUTABLE, Change, File, PathClass
from gitmem.errors import DreamFailed

SEEN = "# User\n\n- likes tea\n- lives in Lyon\n\n## Work\n\n- paints boats\n"


def file(text: str | None) -> File | None:
    return None if text is None else File(text.encode())


def change(seen: str | None, now: str | None, new: str) -> Change:
    return rebased(PathClass.MEMORY, "USER.md", (file(seen), file(now), File(new.encode())))


def text(found: Change) -> str:
    assert found.new is not None
    return found.new.data.decode()


def test_a_file_nobody_touched_becomes_what_the_model_made() -> None:
    assert change(SEEN, SEEN, "# User\n") == Change("USER.md", file(SEEN), file("# User\n"))
    assert change(None, None, "- a\n") == Change("USER.md", None, file("- a\n"))


def test_edits_of_different_places_are_both_there() -> None:
    found = change(SEEN, SEEN.replace("tea", "coffee"), SEEN + "- sings\n")
    assert text(found) == SEEN.replace("tea", "coffee") + "- sings\n"
    assert found.old == file(SEEN.replace("tea", "coffee"))


def test_a_fact_that_both_added_is_there_once() -> None:
    found = change(SEEN, SEEN + "- sings\n", SEEN.replace("Lyon\n", "Lyon\n- sings\n"))
    assert text(found).count("- sings") == 1


def test_the_same_edit_by_both_is_no_conflict() -> None:
    assert text(
        change(SEEN, SEEN.replace("tea", "oat milk"), SEEN.replace("tea", "oat milk"))
    ) == SEEN.replace("tea", "oat milk")


@pytest.mark.parametrize(
    ("now", "new"),
    [
        (SEEN.replace("tea", "coffee"), SEEN.replace("tea", "cocoa")),
        (None, SEEN + "- sings\n"),
    ],
)
def test_the_same_place_edited_differently_changes_nothing(now: str | None, new: str) -> None:
    with pytest.raises(DreamFailed, match=r"USER\.md was edited meanwhile") as caught:
        change(SEEN, now, new)
    assert caught.value.reason == "conflict"


@pytest.mark.parametrize("person_deletes", [True, False])
def test_an_edited_fact_stays_where_the_other_side_deleted_it(person_deletes: bool) -> None:
    edited, deleted = SEEN.replace("tea", "cocoa"), SEEN.replace("- likes tea\n", "")
    assert text(change(SEEN, deleted, edited) if person_deletes else change(SEEN, edited, deleted)) == edited


def test_a_file_that_both_began_holds_both() -> None:
    assert {"- mine", "- theirs"} <= set(text(change(None, "- mine\n", "- theirs\n")).split("\n"))


def test_the_mode_is_that_of_the_file_there_is() -> None:
    now = File((SEEN + "- sings\n").encode(), MODE_EXECUTABLE)
    found = rebased(PathClass.MEMORY, "USER.md", (file(SEEN), now, File(SEEN.replace("tea", "x").encode())))
    assert found.new is not None
    assert found.new.mode == MODE_EXECUTABLE


TEXTS = st.lists(st.sampled_from(["# A", "- a", "- b", "- c", "para", "", "  more"]), max_size=6).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@given(TEXTS, TEXTS | st.none(), TEXTS)
def test_any_versions_become_one_change_or_a_failed_run(seen: str, now: str | None, new: str) -> None:
    with suppress(DreamFailed):
        found = change(seen, now, new)
        assert found.old == file(now)
        lost = set((now or "").split("\n")) - set(text(found).split("\n"))
        assert lost <= set(seen.split("\n")) - set(new.split("\n"))
