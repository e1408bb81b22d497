"""Text from elsewhere cannot play tricks on the person who reads it (A07, A09)."""

from toolgate.cli.visible import excerpt


def test_an_excerpt_keeps_both_ends_and_counts_the_rest() -> None:
    text = "\n".join(map(str, range(100)))

    assert excerpt(text, lines=4, width=80) == ("0\n1\n⟨96 lines left out⟩\n98\n99", True)


def test_an_excerpt_clips_long_lines_in_the_middle() -> None:
    assert excerpt("a" * 50 + "b" * 50, lines=4, width=10) == ("aaaaa⟨90 characters left out⟩bbbbb", True)


def test_an_excerpt_of_something_short_is_all_of_it() -> None:
    assert excerpt("one\ntwo", lines=4, width=10) == ("one\ntwo", False)
