"""`OfflineModel`: what it says, and which lines are calls."""

import json
from typing import Any

import pytest

from toolgate import ToolCall, ToolMode, builtin_registry
from toolgate.models import ModelClient, ModelRequest, ModelStop, OfflineModel

TOOLS = builtin_registry().get_tools_schema(ToolMode.coding)


async def answer(content: str, role: str = "user", tools: list[dict[str, Any]] = TOOLS) -> list[Any]:
    return [item async for item in OfflineModel().stream(ModelRequest([{"role": role, "content": content}], tools))]


async def test_it_says_plainly_that_no_model_is_configured() -> None:
    [text] = await answer("Hello, who are you?")
    assert text.startswith("No language model is configured")
    assert "OPENAI_API_KEY" in text
    assert "ANTHROPIC_API_KEY" in text
    assert "/model" in text
    assert "read_file" in text


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("read_file path=README.md", "read_file", {"path": "README.md"}),
        ("read_file path='a b.txt' limit=5", "read_file", {"path": "a b.txt", "limit": 5}),
        ("read_file README.md", "read_file", {"path": "README.md"}),
        ("Bash ls", "Bash", {"command": "ls"}),
        ("Bash echo 'a  b' | wc -c", "Bash", {"command": "echo 'a  b' | wc -c"}),
        ("Bash A=1 env", "Bash", {"command": "A=1 env"}),
        ("Bash A=1", "Bash", {"command": "A=1"}),
        ('grep {"pattern": "x y"}', "grep", {"pattern": "x y"}),
        ("grep pattern=12", "grep", {"pattern": "12"}),
        ("grep it's", "grep", {"pattern": "it's"}),
        ("ls", "ls", {}),
        ("write_file path=a content='x' dry_run=true", "write_file", {"path": "a", "content": "x", "dry_run": True}),
        ("no_such_tool a=1", "no_such_tool", {"a": 1}),
    ],
)
async def test_lines_that_are_calls(line: str, name: str, arguments: dict[str, Any]) -> None:
    call, stop = await answer(line)
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments), stop) == (name, arguments, ModelStop(reason="tool_calls"))


async def test_a_tool_that_is_not_shown_is_called_all_the_same_so_that_the_gate_answers() -> None:
    calls = [(await answer(line, tools=[]))[0] for line in ("read_file path=x", "Bash ls -l")]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("read_file", {"path": "x"}),
        ("Bash", {"command": "ls -l"}),
    ]


@pytest.mark.parametrize("line", ["", "   ", "hello there", "what is 1 + 1 = ?", "你好", "read the file"])
async def test_lines_that_are_not(line: str) -> None:
    [text] = await answer(line)
    assert text.startswith("No language model")


async def test_a_result_is_shown_and_a_long_one_shortened() -> None:
    assert await answer("     1\thello", role="tool") == ["     1\thello"]
    [text] = await answer("x" * 5000, role="tool")
    assert text == "x" * 4000 + "\n… (1000 more characters)"


def test_it_is_a_model_client() -> None:
    assert isinstance(OfflineModel(), ModelClient)
