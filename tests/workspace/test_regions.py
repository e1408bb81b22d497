"""Changes of a file: what it becomes."""

import pytest

from toolgate.workspace.regions import Replacement, apply


@pytest.mark.parametrize(
    ("replacements", "expected"),
    [
        ([], b"abcdef"),
        ([Replacement(10, 11, b"X")], b"Xbcdef"),
        ([Replacement(12, 12, b"--")], b"ab--cdef"),
        ([Replacement(10, 12, b""), Replacement(15, 16, b"END")], b"cdeEND"),
    ],
)
def test_replacements_are_made_at_their_place_in_the_file(replacements: list[Replacement], expected: bytes) -> None:
    assert apply(b"abcdef", 10, replacements) == expected
