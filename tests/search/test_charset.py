"""Sets of characters, compared with what they match."""

import re

import pytest

from toolgate.search.charset import LAST, CharSet, complement, posix

SAMPLES = [chr(code) for code in (*range(0x20), *range(0x20, 0x7F), 0x7F, 0x85, 0xE9, 0x3000, 0x1F600)]


def matched(charset: CharSet) -> set[str]:
    pattern = re.compile(charset.regex())
    return {character for character in SAMPLES if pattern.fullmatch(character)}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("digit", set("0123456789")), ("upper", set("ABCDEFGHIJKLMNOPQRSTUVWXYZ")), ("blank", {" ", "\t"})],
)
def test_a_posix_class_and_its_opposite_share_nothing(name: str, wanted: set[str]) -> None:
    plain, opposite = CharSet(), CharSet()
    plain.ranges, opposite.ranges = posix(name) or [], posix(f"^{name}") or []

    assert matched(plain) == wanted
    assert matched(plain) | matched(opposite) == set(SAMPLES) - {"\n", "\r"}
    assert not matched(plain) & matched(opposite)


def test_a_class_that_does_not_exist_is_none() -> None:
    assert posix("letters") is None


def test_the_complement_of_the_complement_is_the_same() -> None:
    ranges = [(0x30, 0x39), (0x41, 0x5A)]

    assert complement(complement(ranges)) == ranges
    assert complement([]) == [(0, LAST)]
    assert complement([(0, LAST)]) == []


def test_no_set_matches_a_line_end_or_a_byte_that_is_no_text() -> None:
    everything = CharSet()
    everything.ranges = [(0, LAST)]
    for character in ("\n", "\r", "\udc80"):
        assert not re.fullmatch(everything.regex(), character)
    everything.negated = True
    assert matched(everything) == set()


def test_a_negated_set_inside_another_one() -> None:
    inner, outer = CharSet(), CharSet()
    inner.ranges, inner.perl, inner.negated = [(0x61, 0x7A)], [r"\d"], True
    outer.ranges = [(0x61, 0x61)]
    outer.merge(inner)

    lower = {character for character in SAMPLES if "b" <= character <= "z"}
    assert matched(outer) == set(SAMPLES) - lower - set("0123456789") - {"\n", "\r"}


def test_an_empty_set_matches_nothing() -> None:
    assert matched(CharSet()) == set()
