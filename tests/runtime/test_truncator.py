"""The truncator: when it cuts, what it says, and what it keeps."""

import json
import logging
from pathlib import Path

import pytest

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.runtime.truncator import Truncator
from toolgate.settings import Settings, ToolOutputSettings
from toolgate.workspace import Workspace

DEFAULTS = Settings.defaults().tool_output
RAN = ToolResponse.success({"n": 1}, "Ran.", stats={"time_ms": 5}, context={"cwd": ".", "params_input": {"a": 1}})


class Clock:
    """A time that stands still."""

    def monotonic(self) -> float:
        return 0.0

    def time(self) -> float:
        return 1_700_000_000.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def numbered(count: int) -> str:
    return "\n".join(f"line {number}" for number in range(1, count + 1))


def test_an_output_within_the_limits_passes_untouched(workspace: Workspace) -> None:
    response, output = Truncator(DEFAULTS, workspace).apply("ls", "head", RAN, "short")
    assert response is RAN
    assert output == "short"


@pytest.mark.parametrize(("text", "cut"), [("😀😀", False), ("😀😀x", True), ("xxxxxxxxx", True)])
def test_a_short_text_can_be_too_many_bytes(workspace: Workspace, text: str, cut: bool) -> None:
    assert Truncator(ToolOutputSettings(max_bytes=8), workspace).needs_cut(RAN, text) is cut


def test_the_envelope_of_a_cut_output(workspace: Workspace) -> None:
    settings = ToolOutputSettings(max_lines=3)
    response, output = Truncator(settings, workspace, Clock()).apply("ls", "head", RAN, numbered(5))
    path = "tool-output/tool_20231114_221320_ls.json"
    text = (
        "Ran.\nOutput of ls truncated to its beginning: 3 of 5 lines, 20 of 34 bytes (limits: 3 lines, 51200 bytes). "
        f"All of it is in '{path}': line N of the output is line N+2 of that file. "
        f"Next: read_file(path='{path}', start_line=6), or grep with the same path."
    )
    assert response.to_dict() == {
        "status": "partial",
        "data": {
            "truncated": True,
            "truncation": {
                "direction": "head",
                "max_lines": 3,
                "max_bytes": 51_200,
                "original_lines": 5,
                "original_bytes": 34,
                "kept_lines": 3,
                "kept_bytes": 20,
                "full_output_path": path,
            },
            "preview": "line 1\nline 2\nline 3",
        },
        "text": text,
        "stats": {"time_ms": 5},
        "context": {"cwd": ".", "params_input": {"a": 1}},
    }
    assert output == f"{text}\n\nline 1\nline 2\nline 3"


@pytest.mark.parametrize(
    ("direction", "preview", "start_line"),
    [
        ("head", "line 1\nline 2", 5),
        ("tail", "line 6\nline 7", 3),
        ("head_tail", "line 6\nline 7", 3),
    ],
)
def test_the_tool_says_which_end_is_kept(workspace: Workspace, direction: str, preview: str, start_line: int) -> None:
    response, _ = Truncator(ToolOutputSettings(max_lines=2), workspace).apply("ls", direction, RAN, numbered(7))
    assert response.data["preview"] == preview
    assert f"start_line={start_line})" in response.text


def test_the_setting_overrides_the_tool(workspace: Workspace) -> None:
    settings = ToolOutputSettings(max_lines=1, direction="tail")
    response, _ = Truncator(settings, workspace).apply("ls", "head", RAN, numbered(3))
    assert (response.data["preview"], response.data["truncation"]["direction"]) == ("line 3", "tail")


def test_both_ends_go_on_at_the_first_hidden_line(workspace: Workspace) -> None:
    response, _ = Truncator(ToolOutputSettings(max_lines=20), workspace).apply("Bash", "head_tail", RAN, numbered(99))
    assert response.data["truncation"]["direction"] == "head_tail"
    assert "start_line=12)" in response.text
    path = response.data["truncation"]["full_output_path"]
    assert (workspace.root / path).read_text().split("\n")[11] == '"line 10",'


@pytest.mark.parametrize("before", ["", "a\nb\n", "x" * 9000 + "\n"])
def test_a_cut_inside_a_long_line_goes_on_at_the_piece_where_it_was_cut(workspace: Workspace, before: str) -> None:
    text = before + "".join(chr(0x4E00 + number % 5000) for number in range(60_000))
    response, _ = Truncator(DEFAULTS, workspace).apply("ls", "head", RAN, text)
    path = response.data["truncation"]["full_output_path"]
    start = int(response.text.partition("start_line=")[2].partition(")")[0])
    piece = json.loads((workspace.root / path).read_text().split("\n")[start - 1].removesuffix(","))
    at = len(response.data["preview"]) - len(before)
    assert piece["line"] == before.count("\n") + 1
    assert piece["from"] <= at + 1 < piece["from"] + len(piece["text"])


def test_a_cut_inside_a_short_line_goes_on_at_that_line(workspace: Workspace) -> None:
    text = "x" * 3000 + "\n" + "0123456789\n" * 9
    response, _ = Truncator(ToolOutputSettings(max_bytes=3028), workspace).apply("ls", "head", RAN, text)
    assert response.data["preview"].endswith("\n0123456789\n01234")
    assert "start_line=6)" in response.text


def test_the_summary_is_not_repeated_where_the_preview_shows_it(workspace: Workspace) -> None:
    response, _ = Truncator(ToolOutputSettings(max_lines=2), workspace).apply("ls", "head", RAN, "Ran.\na\nb")
    assert response.text.startswith("Output of ls truncated")


def test_without_a_workspace_the_text_says_that_the_rest_is_gone() -> None:
    response, _ = Truncator(ToolOutputSettings(max_lines=1), None).apply("ls", "head", RAN, "a\nb")
    assert response.data["truncation"]["full_output_path"] is None
    assert response.text.endswith(
        "The rest was not kept: this session has no workspace. "
        "Next: call again for less at a time (a narrower path or pattern, a smaller range or limit)."
    )


def test_a_file_that_cannot_be_written_is_reported(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    (workspace.root / "tool-output").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        response, _ = Truncator(ToolOutputSettings(max_lines=1), workspace).apply("ls", "head", RAN, "a\nb")
    assert response.data["truncation"]["full_output_path"] is None
    assert "'tool-output' is a link or a file where a directory should be." in response.text
    assert caplog.messages[0].startswith("tool_output_not_kept tool_name='ls'")


def test_an_error_message_over_the_limit_is_clipped(workspace: Workspace) -> None:
    failure = ToolResponse.failure(ErrorCode.EXECUTION_ERROR, "x" * 60_000)
    response, _ = Truncator(DEFAULTS, workspace).apply("ls", "head", failure, failure.text)
    assert response.error is not None
    assert response.error.message == "x" * 2000 + "… (cut: 60000 characters in all)"


def test_a_lone_surrogate_is_written_as_an_escape(workspace: Workspace) -> None:
    response, _ = Truncator(ToolOutputSettings(max_lines=1), workspace).apply("ls", "head", RAN, "\ud800\nb")
    assert response.data["preview"] == "\\ud800"


def test_a_tool_that_pages_itself_is_left_alone_up_to_the_cap(workspace: Workspace) -> None:
    paged = ToolResponse.success({}, "Ran.", context={"truncation_skip": True})
    truncator = Truncator(DEFAULTS, workspace)
    assert truncator.apply("ls", "head", paged, "\n" * 1_048_576)[0] is paged
    assert truncator.apply("ls", "head", paged, "\n" * 1_048_577)[0].data["truncation"]["max_bytes"] == 1_048_576


@pytest.mark.parametrize("value", [1, "true", None])
def test_only_true_skips(workspace: Workspace, value: object) -> None:
    response = ToolResponse.success({}, "Ran.", context={"truncation_skip": value})
    assert Truncator(ToolOutputSettings(max_lines=1), workspace).needs_cut(response, "a\nb")


def test_the_example_of_the_documentation_is_an_envelope(workspace: Workspace) -> None:
    page = (Path(__file__).parents[2] / "docs" / "truncation.md").read_text(encoding="utf-8")
    example = ToolResponse.model_validate_json(page.partition("```json")[2].partition("```")[0])
    real, _ = Truncator(ToolOutputSettings(max_lines=1), workspace).apply("grep", "head", RAN, "a\nb")
    assert example.data.keys() == real.data.keys()
    assert example.data["truncation"].keys() == real.data["truncation"].keys()


def test_no_more_lines_are_kept_than_there_were(workspace: Workspace) -> None:
    response, output = Truncator(DEFAULTS, workspace).apply("Bash", "head_tail", RAN, "x" * 200_000)
    truncation = response.data["truncation"]

    assert (truncation["kept_lines"], truncation["original_lines"]) == (1, 1)
    assert "1 of 1 lines" in output
