"""`toolset.call`: id and JSON are made, and values that JSON cannot express are refused."""

import datetime
import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import toolgate
from toolgate import CallableToolset, ToolContext, ToolMode, tool
from toolgate.runtime.call_arguments import arguments_json


class Colour(StrEnum):
    red = "red"


class Point(BaseModel):
    x: int


@tool(modes=[ToolMode.chat_safe])
def echo(name: str, values: list[Any]) -> list[Any]:
    """Echo."""
    return [name, *values]


async def test_a_tool_is_called_by_name_and_arguments(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# TODO\n")
    async with toolgate.open(tmp_path, "coding") as toolset:
        found, again = await toolset.call("grep", pattern="TODO"), await toolset.call("grep", pattern="TODO")
    assert found.response.data["matches"][0]["file"] == "a.py"
    assert found.error_code is None
    assert found.tool_call_id != again.tool_call_id


async def test_an_argument_may_be_called_name() -> None:
    result = await CallableToolset([echo], ToolContext()).call("echo", name="é", values=[1, None])
    assert result.response.data == {"result": ["é", 1, None]}


async def test_failures_have_their_code() -> None:
    toolset = CallableToolset([echo], ToolContext())
    assert (await toolset.call("echo")).error_code == "INVALID_PARAM"
    assert (await toolset.call("ekko")).error_code is toolgate.ErrorCode.TOOL_NOT_FOUND


def test_paths_models_sets_and_enums_are_said_as_json() -> None:
    text = arguments_json("t", {"a": Path("x/y"), "b": Point(x=1), "c": {"b", "a"}, "d": Colour.red, "e": [Path("z")]})
    assert json.loads(text) == {"a": "x/y", "b": {"x": 1}, "c": ["a", "b"], "d": "red", "e": ["z"]}


@pytest.mark.parametrize("value", [datetime.date(2026, 1, 1), float("nan"), object(), b"x", {1: {2: b""}}, open])
def test_what_json_cannot_say_is_an_error_that_names_the_argument(value: Any) -> None:
    with pytest.raises(TypeError) as refused:
        arguments_json("grep", {"pattern": value})
    assert str(refused.value).startswith("grep: argument 'pattern' is ")


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="argument 'x'"):
        arguments_json("t", {"x": loop})
