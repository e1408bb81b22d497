"""Sentences about what a search did not look at."""

from toolgate.tools.search_text import ignored_note, named, unreadable_note


def test_a_few_paths_are_all_named_in_order() -> None:
    assert named(["b", "a"]) == "'a', 'b'"


def test_of_many_paths_the_rest_is_counted() -> None:
    assert named([str(number) for number in range(9)]).endswith("'4' and 4 more")


def test_the_note_says_what_was_left_out_and_how_to_include_it() -> None:
    assert ignored_note("searched", ["build"]) == (
        "Files that .gitignore excludes (among them 'build') were not searched; "
        "pass include_ignored=true to include them."
    )
    assert "among them" not in ignored_note("listed", [])


def test_directories_that_could_not_be_read_are_counted() -> None:
    assert unreadable_note(["a"], too_deep=False) == ["1 directory could not be read: 'a'."]
    assert unreadable_note(["a", "b"], too_deep=False) == ["2 directories could not be read: 'a', 'b'."]
    assert unreadable_note([], too_deep=True) == ["The tree is nested too deeply to be walked to its end."]
    assert unreadable_note([], too_deep=False) == []
