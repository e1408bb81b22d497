"""`load_tools`: notes what is loaded, allows nothing, and is there only where schemas are deferred."""

from pathlib import Path

from tests.kit import call, code_of
from toolgate import ToolContext, ToolMode, Workspace
from toolgate.runtime.builtin import agent_registry


def context(root: Path, *, defers: bool) -> ToolContext:
    made = ToolContext(workspace=Workspace(root), mode=ToolMode.chat_safe)
    made.loaded_tools = set() if defers else None
    return made


async def test_it_notes_the_names(tmp_path: Path) -> None:
    own = context(tmp_path, defers=True)
    toolset = agent_registry().toolset(ToolMode.chat_safe, own)
    result = await toolset.handle(call("load_tools", {"names": ["todo", "todo"]}))
    assert (result.output, own.loaded_tools) == ("You can call now: todo.", {"todo"})


async def test_a_name_that_the_session_may_not_use_loads_nothing(tmp_path: Path) -> None:
    own = context(tmp_path, defers=True)
    toolset = agent_registry().toolset(ToolMode.chat_safe, own)
    result = await toolset.handle(call("load_tools", {"names": ["todo", "write_file"]}))
    assert (code_of(result), own.loaded_tools) == ("NOT_FOUND", set())
    assert "'write_file'" in result.message


async def test_a_toolset_for_others_has_no_such_tool(tmp_path: Path) -> None:
    toolset = agent_registry().toolset(ToolMode.chat_safe, context(tmp_path, defers=False))
    assert "load_tools" not in {definition.name for definition in toolset.tools}
    assert code_of(await toolset.handle(call("load_tools", {"names": ["todo"]}))) == "TOOL_NOT_FOUND"
