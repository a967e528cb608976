from gitmem.core.pathspec import is_below


def test_a_file_is_chosen_by_its_name_or_by_a_folder_above_it() -> None:
    assert is_below("memory/MEMORY.md", ["memory/MEMORY.md"])
    assert is_below("memory/MEMORY.md", ["SOUL.md", "memory"])
    assert not is_below("memory.md", ["memory"])
    assert not is_below("memory", ["memory/MEMORY.md"])


def test_no_choice_and_the_empty_path_are_everything() -> None:
    assert is_below("a/b", [])
    assert is_below("a/b", [""])
