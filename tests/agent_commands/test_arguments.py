"""Words of an agent command become options, operands and content, or a sentence about what is wrong."""

import pytest

from toolgate.agent_commands.arguments import Arguments, UsageError, sort_words
from toolgate.command.line import read_line

VALUED, FLAGS = frozenset({"--limit"}), frozenset({"--all"})


def sorted_words(text: str) -> Arguments:
    return sort_words(read_line(text), VALUED, FLAGS)


@pytest.mark.parametrize(
    ("text", "operands", "options"),
    [
        ("edit a.py old new", ("a.py", "old", "new"), {}),
        ("edit --all a.py", ("a.py",), {"--all": True}),
        ("edit --limit 3 a.py", ("a.py",), {"--limit": "3"}),
        ("edit --limit=3 a.py", ("a.py",), {"--limit": "3"}),
        ("edit -- --all", ("--all",), {}),
        ("edit '--all'", ("--all",), {}),
        ("edit -", ("-",), {}),
    ],
)
def test_words_are_options_unless_they_are_quoted_or_come_after_two_dashes(
    text: str, operands: tuple[str, ...], options: dict[str, str | bool]
) -> None:
    found = sorted_words(text)

    assert (found.operands, found.options) == (operands, options)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("edit --limit", "--limit needs a value"),
        ("edit --nope a", "unknown option '--nope'"),
        ("edit $name", "contains something that a shell would expand"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason.replace("$", r"\$")):
        sorted_words(text)


@pytest.mark.parametrize("text", ["0", "007", "9" * 5000])
def test_a_number_is_whole_and_bounded(text: str) -> None:
    number = sorted_words(f"edit --limit {text}").number("--limit", 5)

    assert number == min(int(text[:19]), 10**18)


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "٣"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--limit must be a whole number of at least 0"):
        sorted_words(f"edit --limit={text}").number("--limit", 5)


def test_content_is_the_last_operand() -> None:
    found = sorted_words("edit a.py old <<'EOF'\nnew\nEOF")

    assert found.with_content("PATH OLD NEW") == ("a.py", "old", "new\n")
    with pytest.raises(UsageError, match="NEW is given twice"):
        sorted_words("edit a.py old new <<'EOF'\nx\nEOF").with_content("PATH OLD NEW")
    with pytest.raises(UsageError, match="it reads no heredoc"):
        found.exactly("PATH OLD")


def test_too_few_and_too_many_words_are_named() -> None:
    with pytest.raises(UsageError, match="OLD and NEW missing"):
        sorted_words("edit a.py").exactly("PATH OLD NEW")
    with pytest.raises(UsageError, match="quote a word that contains blanks"):
        sorted_words("edit a.py one two").exactly("PATH OLD")
