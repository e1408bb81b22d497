"""ripgrep's regular expressions in Python's language."""

import re

import pytest

from toolgate.search.regex_dialect import NeedsRipgrep, PatternError, by_line, translate


def found(pattern: str, text: str) -> bool:
    """Whether the translation of `pattern` matches somewhere in `text`."""
    return re.search(translate(pattern).pattern, text, re.MULTILINE) is not None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a++b", "aab"),
        ("a**", "b"),
        ("(?<name>a)(?P<other>b)", "ab"),
        (r"\x41\x{42}\u0043\u{44}\U00000045", "ABCDE"),
        ("[[:alpha:]_]+", "x"),
        ("[[:^alpha:]]", "1"),
        (r"[^\W\d]", "a"),
        ("[a[bc]]", "c"),
        ("[]a]", "]"),
        ("[a-]", "-"),
        ("(?i)FOO", "foo"),
        ("a(?i)b|c", "C"),
        ("(?i:A)b", "ab"),
        ("foo$", "foo\r\nx"),
        ("^$", "a\r\n\r\nb"),
        (r"\<foo\>", "a foo b"),
        ("x{2,}?y", "xxxy"),
        (r"\b*x", "x"),
        ("(?:a){2}+", "aa"),
        ("[--a]", "-"),
        ("[]-a]", "-"),
        (r"\b{start}foo\b{end}", "a foo b"),
        (r"o\b{end-half}", "foo b"),
        (r"\b{start-half}f", "foo b"),
        ("(?<a[1].b>x)", "x"),
        ("(?s).", "x"),
        (r"\Afoo\z", "x\nfoo\ny"),
    ],
)
def test_a_translation_matches(pattern: str, text: str) -> None:
    assert found(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a.b", "a\nb"),
        ("[^x]", "\n"),
        (r"a\sb", "a\nb"),
        (r"\W", "\r\n"),
        (".", "\udcff"),
        (r"\D", "\udc80"),
        ("[^a]", "\udc80"),
        (r"\s", "\x1c"),
        ("(?i:A)B", "ab"),
        ("[[:alpha:]]", "é"),
        ("[--a]", "B"),
        ("[^]-a]", "-"),
        (r"\b{start}oo", "foo"),
    ],
)
def test_a_translation_does_not_match(pattern: str, text: str) -> None:
    assert not found(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("foo(", 4),
        ("foo)", 4),
        ("(?=a)", 1),
        ("x(?<!a)", 2),
        (r"(a)\1", 4),
        (r"\h", 1),
        (r"\Z", 1),
        ("*a", 1),
        ("a|*", 3),
        ("a{", 2),
        ("a{3,2}", 2),
        ("a{x}", 2),
        ("a{,2}", 2),
        ("a{٣}", 2),
        ("a{99999999999}", 2),
        (r"[\d-z]", 1),
        (r"[\n\r]", 1),
        (r"\b{middle}", 1),
        (r"\b{}", 3),
        (r"\p{L", 1),
        (r"\pX", 1),
        ("(?)", 1),
        ("(?i-)a", 1),
        ("(?--i)a", 4),
        ("(?i-i)a", 5),
        ("(?<a-b>a)", 1),
        ("[a", 1),
        ("[z-a]", 1),
        (r"a\nb", 2),
        ("\\", 1),
        (r"\x{110000}", 1),
        ("(?<n>a)(?<n>b)", 8),
        ("(?q)", 3),
    ],
)
def test_a_mistake_is_told_with_its_position(pattern: str, position: int) -> None:
    with pytest.raises(PatternError, match=f"at character {position}$"):
        translate(pattern)


@pytest.mark.parametrize("pattern", [r"\p{Greek}", "[a-z&&[^b]]", "(?x) a", "(?-u)a", "a{1001}", r"[\pL]"])
def test_what_only_ripgrep_can_do_is_told_apart(pattern: str) -> None:
    with pytest.raises(NeedsRipgrep):
        translate(pattern)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(PatternError, match="nested"):
        translate("(" * 5000)


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"def \w+_handler\(", "_handler("),
        ("plain", "plain"),
        ("^plain$", "plain"),
        ("a|b", ""),
        ("(abc)d", "d"),
        ("abc?d", "ab"),
        ("(?i)abc", ""),
    ],
)
def test_the_longest_certain_text_is_known(pattern: str, literal: str) -> None:
    assert translate(pattern).literal == literal


def test_the_ends_of_a_text_become_the_ends_of_a_line_for_ripgrep() -> None:
    assert by_line(r"\Aa\\z\.\z") == r"^a\\z\.$"


@pytest.mark.parametrize("pattern", [r"[\z]", r"[^]\A]", r"[[a]\z]", r"\[[\z]"])
def test_in_a_set_they_stay_what_they_are_and_ripgrep_refuses_them(pattern: str) -> None:
    assert by_line(pattern) == pattern
