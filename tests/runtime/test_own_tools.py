"""`toolgate.open(tools=…, only=…)`: tools of a program, and a choice among all of them."""

import logging
from pathlib import Path
from typing import Any

import pytest

import toolgate
from tests.kit import Foreign, ProbeTool, returning
from toolgate import ToolMode, tool


@tool(modes=["chat_safe", "coding"])
def shout(text: str) -> str:
    """Shout."""
    return text.upper()


async def test_a_tool_of_ones_own_stands_beside_the_built_in_ones(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, "coding", tools=[shout]) as toolset:
        assert {"shout", "grep"} <= {tool.name for tool in toolset.tools}
        assert (await toolset.call("shout", text="a")).response.data == {"result": "A"}


async def test_a_tool_without_modes_is_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with toolgate.open(tmp_path, "coding", tools=[ProbeTool(allowed_modes=frozenset())]) as toolset:
            assert "probe" not in {tool.name for tool in toolset.tools}
            assert (await toolset.call("probe")).error_code == "MODE_DENIED"
    assert "tool_registered_with_default_modes" in caplog.text


async def test_a_foreign_tool_was_handed_over_deliberately(tmp_path: Path) -> None:
    foreign = Foreign(lambda given: returning("done")(given, toolgate.ToolContext()), {"type": "object"})
    async with toolgate.open(tmp_path, tools=[foreign]) as toolset:
        assert (await toolset.call("foreign")).error_code is None


async def test_only_leaves_the_rest_out(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, "coding", tools=[shout], only=["grep", "shout"]) as toolset:
        assert [tool.name for tool in toolset.tools] == ["grep", "shout"]
        assert (await toolset.call("ls")).error_code == "TOOL_NOT_FOUND"
    async with toolgate.open(tmp_path, "coding", only=[]) as toolset:
        assert toolset.tools == []


async def test_only_does_not_widen_the_mode(tmp_path: Path) -> None:
    async with toolgate.open(tmp_path, only=["write_file"]) as toolset:
        assert toolset.tools == []
        assert (await toolset.call("write_file", path="a", content="b")).error_code == "MODE_DENIED"


class Bad(ProbeTool):
    name = "no spaces please"


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ({"tools": "shout"}, TypeError, "write tools=[my_tool]"),
        ({"tools": 7}, TypeError, "write tools=[my_tool]"),
        ({"tools": [ProbeTool]}, ValueError, "pass an instance of it, ProbeTool()"),
        ({"tools": [print]}, ValueError, "print is a plain function: decorate it with @tool"),
        ({"tools": [Bad()]}, ValueError, "cannot name a tool"),
        ({"tools": [7]}, TypeError, "is not a tool"),
        ({"tools": [shout, shout]}, ValueError, "already registered"),
        ({"tools": [ProbeTool(name="grep")]}, ValueError, "already registered"),
        ({"only": "grep"}, TypeError, 'write only=["read_file", "grep"]'),
        ({"only": 7}, TypeError, 'write only=["read_file", "grep"]'),
        ({"only": [7]}, TypeError, 'write only=["read_file", "grep"]'),
        ({"only": ["grpe"]}, ValueError, "Did you mean 'grep'?"),
        ({"mode": "code"}, ValueError, "mode must be ToolMode.chat_safe"),
        ({"policy": {"tool": "Bash"}}, TypeError, "policy must be a toolgate.Policy"),
        ({"approver": True}, TypeError, "approver must be"),
        ({"approval_mode": "never"}, ValueError, "never"),
    ],
    ids=range(16),
)
async def test_what_is_wrong_is_said_before_anything_is_opened(
    tmp_path: Path, wrong: dict[str, Any], kind: type[Exception], said: str
) -> None:
    missing = tmp_path / "missing"  # opening it would be another error
    with pytest.raises(kind) as refused:
        async with toolgate.open(missing, **{"mode": ToolMode.coding, **wrong}):
            raise AssertionError("it must not open")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
