"""`read_file`."""

from pathlib import Path

import pytest

import toolgate
from tests.support.toolbox import Toolbox
from toolgate.settings import Settings, ToolOutputSettings


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path)


async def test_a_whole_file(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("one\ntwo\n")
    result = await tools.result("read_file", path="a.txt")

    assert result.response.data == {"content": "     1\tone\n     2\ttwo", "truncated": False}
    assert result.output == "Read all 2 lines of 'a.txt'.\n     1\tone\n     2\ttwo"
    assert result.response.stats["total_lines"] == 2
    assert {key: result.response.context[key] for key in ("cwd", "path_resolved", "encoding", "line_ends")} == {
        "cwd": ".",
        "path_resolved": "a.txt",
        "encoding": "utf-8",
        "line_ends": "lf",
    }


async def test_a_window_says_where_to_read_on(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 11)))
    response = await tools("read_file", path="a.txt", start_line=3, limit=2)

    assert (response.status, response.data) == ("partial", {"content": "     3\t3\n     4\t4", "truncated": True})
    assert response.text == "Read lines 3-4 (of 10) of 'a.txt'. More lines follow: use start_line=5 to read on."


async def test_the_default_is_2000_lines(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("x\n" * 3000)
    result = await tools.result("read_file", path="a.txt")

    assert result.response.data["content"].count("\n") == 1999
    assert "start_line=2001" in result.output
    assert "truncation" not in result.response.data


async def test_a_window_is_bounded_by_eight_times_the_output_limit(tmp_path: Path) -> None:
    settings = Settings.defaults().model_copy(update={"tool_output": ToolOutputSettings.model_construct(max_bytes=100)})
    tools = Toolbox(tmp_path, settings=settings)
    (tmp_path / "a.txt").write_text("x" * 92 + "\n" + ("x" * 92 + "\n") * 99)
    first = await tools("read_file", path="a.txt")
    second = await tools("read_file", path="a.txt", start_line=9)

    assert [response.data["content"].count("\n") for response in (first, second)] == [7, 7]
    assert "start_line=9" in first.text


async def test_past_the_end_is_success_and_empty(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("x\n")
    response = await tools("read_file", path="a.txt", start_line=10**12)

    assert (response.status, response.data) == ("success", {"content": "", "truncated": False})


async def test_a_clipped_line_is_partial_and_says_how_to_see_it(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("x" * 3000)
    response = await tools("read_file", path="a.txt")

    assert (response.status, response.data["truncated"], "cut -c" in response.text) == ("partial", True, True)


async def test_a_missing_file_is_named_as_typed(tools: Toolbox) -> None:
    response = await tools("read_file", path="no/such.txt")

    assert (
        response.error
        == toolgate.ToolResponse.failure(toolgate.ErrorCode.NOT_FOUND, "'no/such.txt' does not exist.").error
    )
    assert "ls" in response.text


async def test_no_host_path_is_in_a_result(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("x\n")
    results = [
        await tools.result("read_file", path="a.txt"),
        await tools.result("read_file", path="missing"),
        await tools.result("write_file", path="b.txt", content="x"),
        await tools.result("edit_file", path="b.txt", old_string="x", new_string="y"),
        await tools.result("edit_file", path="b.txt", old_string="x", new_string="y"),
    ]

    assert not [result for result in results if str(tools.root) in result.response.to_json() + result.output]


async def test_an_absolute_path_is_resolved_to_a_relative_one(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("x\n")
    response = await tools("read_file", path=str(tools.root / "a.txt"))

    assert response.context["path_resolved"] == "a.txt"


async def test_the_resolved_path_is_where_a_link_leads(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text("x\n")
    (tools.root / "link").symlink_to("a.txt")

    assert (await tools("read_file", path="link")).context["path_resolved"] == "a.txt"


async def test_without_a_workspace_it_says_so() -> None:
    context = toolgate.ToolContext(mode=toolgate.ToolMode.coding)
    toolset = toolgate.builtin_registry().toolset(toolgate.ToolMode.coding, context)
    result = await toolset.handle(toolgate.ToolCall(id="1", name="read_file", arguments='{"path": "x"}'))

    assert (result.is_error, "workspace" in result.message) == (True, True)


async def test_a_page_has_about_40_kilobytes(tools: Toolbox) -> None:
    (tools.root / "a.txt").write_text(("x" * 99 + "\n") * 3000)
    result = await tools.result("read_file", path="a.txt")

    assert 36_000 < len(result.output) < 39_000, "Codex and Gemini CLI cut what is longer than 40,000"
    assert "start_line=356 to read on" in result.output.partition("\n")[0]


@pytest.mark.parametrize(
    ("start", "lines"), [(-1, ["10"]), (-3, ["8", "9", "10"]), (-10, [*map(str, range(1, 11))]), (-99, ["1", "2"])]
)
@pytest.mark.parametrize("end", ["\n", ""])
async def test_lines_count_from_the_end(tools: Toolbox, start: int, lines: list[str], end: str) -> None:
    (tools.root / "a.txt").write_text("\n".join(map(str, range(1, 11))) + end)
    response = await tools("read_file", path="a.txt", start_line=start, limit=max(len(lines), 2))

    assert [line.partition("\t")[2] for line in response.data["content"].split("\n")] == lines
    assert int(response.data["content"].split("\t")[0]) == int(lines[0])


async def test_the_end_of_an_empty_file_is_empty(tools: Toolbox) -> None:
    (tools.root / "empty").touch()

    assert (await tools("read_file", path="empty", start_line=-5)).data == {"content": "", "truncated": False}


async def test_line_0_is_none(tools: Toolbox) -> None:
    response = await tools("read_file", path="a.txt", start_line=0)

    assert (response.status, "start_line" in response.text) == ("error", True)


async def test_one_line_is_spoken_of_as_one(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("x\n")
    (tmp_path / "two").write_text("x\ny\n")
    box = Toolbox(tmp_path)

    assert (await box("read_file", path="one")).text == "Read the only line of 'one'."
    assert (await box("read_file", path="two", start_line=2)).text == "Read line 2 (of 2) of 'two'."
    assert (await box("read_file", path="one", start_line=2)).text.startswith(
        "'one' has 1 line; line 2 is past its end"
    )
    assert (await box("write_file", path="new", content="x")).text.startswith("Created 'new' (1 line, 1 byte).")
