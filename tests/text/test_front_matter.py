"""Front matter: keys and texts of the top level, and the body."""

import pytest

from toolgate.text.front_matter import split_front_matter


def test_keys_and_body() -> None:
    text = "\ufeff---\r\nname: a-b\r\n# note\ndescription: 'it''s'\nmetadata:\n  author: me\n  - x\n---\n\n# Body\n"
    assert split_front_matter(text) == ({"name": "a-b", "description": "it's", "metadata": ""}, "# Body")


def test_blocks_and_lines_that_go_on() -> None:
    text = "---\na: >-\n  one\n  two\nb: |\n  three\n  four\nc: five\n  six\n---\n"
    assert split_front_matter(text) == ({"a": "one two", "b": "three\nfour", "c": "five six"}, "")


def test_a_file_without_front_matter_is_all_body() -> None:
    assert split_front_matter("# Title\n---\n") == ({}, "# Title\n---")


@pytest.mark.parametrize("text", ["---\nname: a\n", "---\nno key\n---\n", "---\na: 1\na: 2\n---\n", "---\n: x\n---\n"])
def test_what_is_no_front_matter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"front matter|twice"):
        split_front_matter(text)
