"""`todo`."""

from typing import Any

import pytest

from tests.kit import call, code_of, run, toolset_of
from toolgate import ToolContext, ToolGroup, ToolMode
from toolgate.testing import check_tool, violations
from toolgate.tools.builtin.todo import TodoTool

LIST = [
    {"content": "read", "status": "completed"},
    {"content": "write", "status": "in_progress"},
    {"content": "test", "status": "pending"},
]


class Todos:
    """A list that counts how often it was replaced."""

    def __init__(self) -> None:
        self.lists: list[list[dict[str, str]]] = []

    async def replace(self, items: list[dict[str, str]]) -> None:
        self.lists.append(items)

    async def items(self) -> list[dict[str, str]]:
        return self.lists[-1] if self.lists else []


def test_it_is_for_everyone() -> None:
    tool = TodoTool()
    assert (tool.name, tool.group, tool.allowed_modes) == ("todo", ToolGroup.code, frozenset(ToolMode))


async def test_the_list_is_stored_and_shown() -> None:
    todos = Todos()
    result = await run(TodoTool(), {"items": LIST}, todos=todos, mode=ToolMode.chat_safe)
    assert (result.response.status, result.response.data, todos.lists) == ("success", {"items": LIST}, [LIST])
    assert result.output.endswith("[x] read\n[>] write\n[ ] test")
    assert "3 items, 1 completed" in result.response.text


async def test_an_empty_list_clears_it() -> None:
    todos = Todos()
    assert (await run(TodoTool(), {"items": []}, todos=todos)).response.data == {"items": []}
    assert todos.lists == [[]]


async def test_at_most_one_item_is_in_progress() -> None:
    todos = Todos()
    items = [{"content": str(number), "status": "in_progress"} for number in range(2)]
    result = await run(TodoTool(), {"items": items}, todos=todos)
    assert (code_of(result), todos.lists) == ("INVALID_PARAM", [])
    assert "2 items are in_progress" in result.message
    assert violations(result) == []


@pytest.mark.parametrize(
    ("items", "key"),
    [
        ([{"content": "", "status": "pending"}], "items.0.content"),
        ([{"content": "x", "status": "done"}], "items.0.status"),
        ([{"content": "x"}], "items.0.status"),
        ([{"content": "x", "status": "pending", "priority": 1}], "items.0.priority"),
        ("x", "items"),
        (None, "items"),
        ([{"content": "x", "status": "pending"}] * 201, "items"),
    ],
)
async def test_a_wrong_item_is_named(items: Any, key: str) -> None:
    todos = Todos()
    result = await run(TodoTool(), {"items": items}, todos=todos)
    assert (code_of(result), todos.lists) == ("INVALID_PARAM", [])
    assert f"{key}: " in result.message


async def test_without_a_store_the_list_lives_as_long_as_the_session() -> None:
    toolset = toolset_of(TodoTool())
    assert code_of(await toolset.handle(call("todo", {"items": LIST}))) is None
    assert toolset.context.state.todos == LIST


async def test_it_conforms() -> None:
    assert await check_tool(TodoTool(), {"items": LIST}, context=ToolContext(todos=Todos())) == []


async def test_an_item_of_blanks_is_refused() -> None:
    items = [{"content": "a", "status": "pending"}, {"content": " \t", "status": "pending"}]
    result = await run(TodoTool(), {"items": items})

    assert (code_of(result), result.message) == ("INVALID_PARAM", "Item 2 is blank.")
