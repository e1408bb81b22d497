"""`tools`: tools are found by all the words of a search."""

from toolgate import ToolDefinition
from toolgate.agent_commands import list_tools


def test_tools_are_found_by_all_the_words() -> None:
    tools = [
        ToolDefinition(name="read_file", description="Reads a file.\nMore.", parameters={}),
        ToolDefinition(name="edit_file", description="Edits a file.", parameters={}),
    ]
    assert list_tools(tools, "") == "read_file: Reads a file.\nedit_file: Edits a file.\n"
    assert list_tools(tools, "FILE edits") == "edit_file: Edits a file.\n"
    assert list_tools(tools, "fly").startswith("No tool matches 'fly'")
