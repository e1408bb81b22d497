"""Hostile arguments: refused with one envelope."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit import Foreign, PathParams, ProbeTool, call, code_of, raising, returning, run, toolset_of
from toolgate import (
    ErrorCode,
    ToolError,
    ToolResponse,
    ToolResult,
    Workspace,
    builtin_registry,
)
from toolgate.testing import AutoApprover, MemoryRecorder, violations


async def refused(arguments: str, *, id: str = "c1") -> ToolResult:
    """The result of hostile arguments: the handler was not called, the next ordinary call works."""
    tool, recorder = ProbeTool(Params=PathParams), MemoryRecorder()
    toolset = toolset_of(tool, recorder=recorder)
    result = await toolset.handle(call(arguments=arguments, id=id))
    assert (result.tool_call_id, result.is_error, tool.calls) == (id, True, [])
    assert violations(result) == []
    assert [record.kind for record in recorder.records] == ["decision", "finished"]
    assert code_of(await toolset.handle(call(arguments={"path": "a"}))) is None
    return result


@pytest.mark.parametrize(
    "arguments", ["{", '{"path": ', "{'path': 'a'}", '{"path": "a"', "path=a", "<path>a</path>", "\x00"]
)
async def test_e01_broken_json(arguments: str) -> None:
    result = await refused(arguments, id="id-e01")
    assert "Invalid parameters" in result.message
    assert result.extras["failureCategory"] == "invalid_usage"
    assert result.extras["toolName"] == "probe"
    assert result.extras["parseError"]
    assert result.extras["parseError"] in result.message


@pytest.mark.parametrize(
    "arguments", ['{"path":"a","path":"../b"}', '{"path":"a","limit":1,"path":"a"}', r'{"path":"a","\u0070ath":"../b"}']
)
async def test_e02_a_key_that_stands_twice(arguments: str) -> None:
    result = await refused(arguments)
    assert code_of(result) == "INVALID_PARAM"
    assert "duplicate key 'path'" in result.message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
async def test_e03_numbers_that_json_does_not_have_come_not_in(number: str) -> None:
    assert code_of(await refused(f'{{"path": "a", "limit": {number}}}')) == "INVALID_PARAM"
    assert code_of(await refused(f'{{"path": "a", "nested": [{{"x": {number}}}]}}')) == "INVALID_PARAM"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
async def test_e03_numbers_that_json_does_not_have_come_not_out(number: float) -> None:
    responses = [
        ToolResponse.success({"x": number}, "done"),
        ToolResponse.success({"deep": [{"x": (number,)}]}, "done"),
        ToolResponse.success({}, "done", stats={"x": number}),
        ToolResponse.success({}, "done", context={"x": number}),
        ToolResponse.failure(ErrorCode.NOT_FOUND, "Gone.", data={"x": number}),
    ]
    for response in responses:
        result = await run(ProbeTool(returning(response)))
        assert code_of(result) == "INTERNAL_ERROR"
        json.loads(result.response.to_json(), parse_constant=pytest.fail)


async def test_e03_control_finite_numbers_pass() -> None:
    result = await run(ProbeTool(returning(ToolResponse.success({"x": 1e300, "y": "NaN"}, "done"))))
    assert json.loads(result.response.to_json())["data"] == {"x": 1e300, "y": "NaN"}


@pytest.mark.parametrize(
    "arguments",
    [
        "[" * 100_000,
        '{"path":' + "[" * 100_000,
        '{"a":' * 100_000,
        '{"path": "a", "x": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
async def test_e04_absurd_nesting(arguments: str) -> None:
    assert code_of(await refused(arguments)) == "INVALID_PARAM"


@pytest.mark.parametrize("escape", [r"\ud800", r"\uDFFF", r"\udc00\ud800", r"x\ud83dx"])
async def test_e05_a_lone_surrogate_in_arguments(escape: str) -> None:
    assert code_of(await refused(f'{{"path": "{escape}"}}')) == "INVALID_PARAM"
    assert code_of(await refused(f'{{"path": "a", "{escape}": 1}}')) == "INVALID_PARAM"


async def test_e05_a_lone_surrogate_itself_in_arguments() -> None:
    assert code_of(await refused('{"path": "\ud800"}')) == "INVALID_PARAM"


async def test_e05_a_lone_surrogate_in_the_name() -> None:
    result = await toolset_of(ProbeTool()).handle(call("probe\ud800"))
    assert code_of(result) == "TOOL_NOT_FOUND"
    assert (result.response.to_json() + result.output + result.message).encode()


@pytest.mark.parametrize("tool_name", ["read_file", "write_file", "edit_file", "ls", "glob", "grep"])
async def test_e05_a_lone_surrogate_for_the_file_tools(tool_name: str, tmp_path: Path) -> None:
    tool = builtin_registry().get(tool_name)
    assert tool is not None
    text = r'{"path": "\ud800", "content": "\ud800", "pattern": "\ud800", "old_string": "\ud800", "new_string": ""}'
    workspace = Workspace(tmp_path)
    result = await run(tool, text, workspace=workspace, approver=AutoApprover())
    workspace.close()
    assert (code_of(result), list(tmp_path.iterdir())) == ("INVALID_PARAM", [])


class Quiet(ProbeTool):
    """Renders nothing of its data."""

    def render(self, response: ToolResponse) -> str:
        return "quiet"


@pytest.mark.parametrize(
    "tool",
    [
        ProbeTool(returning(ToolResponse.success({"x": "a\ud800"}, "done"))),
        ProbeTool(returning(ToolResponse.success({"\ud800": 1}, "done"))),
        ProbeTool(returning(ToolResponse.success({}, "a\ud800"))),
        ProbeTool(returning(ToolResponse.success({}, "done", context={"x": "\ud800"}))),
        ProbeTool(returning(ToolResponse.success({}, "done", stats={"x": "\ud800"}))),
        ProbeTool(raising(ToolError(ErrorCode.NOT_FOUND, "a\ud800", "Use \udfff.", data={"x": "\ud800"}))),
        Quiet(returning(ToolResponse.success({"x": ["\ud800"]}, "done"))),
        Quiet(returning(ToolResponse.success({}, "a\ud800"))),
        Foreign(lambda _: "\ud800", name="probe"),
        Foreign(lambda _: {"error": "\ud800"}, name="probe"),
    ],
)
async def test_e05_a_lone_surrogate_out_of_a_tool(tool: Any) -> None:
    recorder = MemoryRecorder()
    result = await toolset_of(tool, recorder=recorder).handle(call())
    assert violations(result) == []
    assert (result.response.to_json() + result.output + result.message + str(result.extras)).encode()
    for record in recorder.records:
        assert record.model_dump_json().encode()


@pytest.mark.parametrize("digits", [5_000, 50_000])
async def test_e06_an_integer_of_thousands_of_digits(digits: int) -> None:
    assert code_of(await refused(f'{{"path": "a", "limit": {"9" * digits}}}')) == "INVALID_PARAM"
    assert code_of(await refused(f'{{"path": "a", "limit": -{"9" * digits}}}')) == "INVALID_PARAM"


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"path": "a", "limit": True}, "limit"),
        ({"path": "a", "limit": 1.0}, "limit"),
        ({"path": "a", "limit": 1.5}, "limit"),
        ({"path": "a", "limit": "3"}, "limit"),
        ({"path": "a", "limit": None}, "limit"),
        ({"path": ["a"]}, "path"),
        ({"path": None}, "path"),
        ({"path": 1}, "path"),
        ({"path": {"path": "a"}}, "path"),
        ({"path": "a", "colour": "red"}, "colour"),
        ({"Path": "a"}, "path"),
        ({}, "path"),
    ],
)
async def test_e07_the_wrong_type_an_unknown_or_a_missing_key(arguments: dict[str, Any], key: str) -> None:
    result = await refused(json.dumps(arguments))
    assert (code_of(result), result.extras["toolName"]) == ("INVALID_PARAM", "probe")
    assert f"{key}: " in result.message


@pytest.mark.parametrize("arguments", ["null", "[]", '"x"', "1", "true", '[{"path": "a"}]'])
async def test_e08_anything_but_an_object(arguments: str) -> None:
    result = await refused(arguments)
    assert (code_of(result), result.extras["parseError"]) == ("INVALID_PARAM", "expected a JSON object")


@pytest.mark.parametrize("arguments", ["\ufeff", '\ufeff{"path": "a"}', "\ufeff "])
async def test_e08_a_byte_order_mark(arguments: str) -> None:
    assert code_of(await refused(arguments)) == "INVALID_PARAM"


@pytest.mark.parametrize("arguments", ["", " ", "\n\t", "{}"])
async def test_e08_control_empty_or_blank_is_an_empty_object(arguments: str) -> None:
    assert code_of(await run(ProbeTool(), arguments)) is None
