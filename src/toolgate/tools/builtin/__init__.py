"""The built-in tools: one file a tool, its model-facing text in a `.md` beside it."""

from typing import Any

from toolgate.tools.base import Tool


def builtin_tools() -> list[Tool[Any]]:
    """One instance of every built-in tool, in the order in which they are shown."""
    from toolgate.tools.builtin.bash import BashTool
    from toolgate.tools.builtin.current_time import CurrentTimeTool
    from toolgate.tools.builtin.edit_file import FileEditTool
    from toolgate.tools.builtin.glob import GlobTool
    from toolgate.tools.builtin.grep import GrepTool
    from toolgate.tools.builtin.ls import ListFilesTool
    from toolgate.tools.builtin.memory_append import MemoryAppendTool
    from toolgate.tools.builtin.memory_search import MemorySearchTool
    from toolgate.tools.builtin.read_file import FileReadTool
    from toolgate.tools.builtin.task import TaskTool
    from toolgate.tools.builtin.todo import TodoTool
    from toolgate.tools.builtin.write_file import FileWriteTool

    return [
        FileReadTool(),
        FileWriteTool(),
        FileEditTool(),
        ListFilesTool(),
        GlobTool(),
        GrepTool(),
        BashTool(),
        TaskTool(),
        CurrentTimeTool(),
        MemorySearchTool(),
        MemoryAppendTool(),
        TodoTool(),
    ]
