"""How an area reads its variables."""

import pytest

from toolgate.settings import ShellSettings, ToolOutputSettings


@pytest.mark.parametrize("name", ["TOOL_OUTPUT_MAX_LINES", "tool_output_max_lines", "Tool_Output_Max_Lines"])
def test_the_case_of_a_variable_does_not_matter(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "7")

    assert ToolOutputSettings().max_lines == 7


def test_what_is_given_takes_precedence_over_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "not a number")
    monkeypatch.setenv("TOOL_OUTPUT_MAX_BYTES", "9")
    area = ToolOutputSettings(max_lines=7)

    assert (area.max_lines, area.max_bytes) == (7, 9)


def test_an_empty_variable_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_SHELL_RIPGREP", "")

    assert ShellSettings().ripgrep == ""


def test_a_list_is_words_and_not_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLGATE_SHELL_ENVIRONMENT", '["A", "B"]')

    assert ShellSettings().environment == ('["A"', '"B"]')


def test_only_what_was_read_or_given_counts_as_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "7")

    assert ToolOutputSettings(dir="out").model_fields_set == {"max_lines", "dir"}


def test_of_reads_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_OUTPUT_MAX_LINES", "7")

    assert ToolOutputSettings.of({}).max_lines == 2000


def test_variable_names_what_is_read() -> None:
    assert ToolOutputSettings.variable("max_lines") == "TOOL_OUTPUT_MAX_LINES"
