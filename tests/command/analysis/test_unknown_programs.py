"""Programs that the analysis does not know."""

import pytest

from tests.command.analysis.kit import dangers, judged


@pytest.mark.parametrize("words", ["rm x", "'a; rm x'", "--run=rm"])
def test_a_word_that_is_dangerous_as_a_command_asks(words: str) -> None:
    assert dangers(f"frob {words}") == "'frob' is not a known program, and may run 'rm'"


def test_ordinary_words_are_noted_and_do_not_ask() -> None:
    plan = judged("frob a 'b c'")
    assert plan.suspects == (("frob", "a", "b", "c"),)
    assert plan.dangers == ()


def test_a_program_that_never_runs_its_words_is_not_suspect() -> None:
    assert judged("pytest rm").suspects == ()


@pytest.mark.parametrize("option", ["-o f", "--output=f", "--out f"])
def test_an_output_that_exists_is_overwritten(option: str) -> None:
    assert dangers(f"frob {option}") == "it overwrites 'f', which exists"


def test_a_dangerous_word_behind_very_many_others_asks() -> None:
    assert "too many words to look at" in dangers(f"frob {'a ' * 300}rm")
