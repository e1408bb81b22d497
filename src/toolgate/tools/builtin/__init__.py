"""The built-in tools. Each class is loaded when it is asked for.

Lives here: one module per tool and, beside it, a `.md` file with the text that the model reads.
May touch: what the context hands in (`workspace/`, `shell/`, ports); nothing else.
Start reading: `current_time.py`, the smallest, then `read_file.py`.
"""

import importlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate.tools.base import Tool

if TYPE_CHECKING:
    from toolgate.settings import Settings
    from toolgate.tools.builtin.apply_patch import ApplyPatchTool
    from toolgate.tools.builtin.bash import BashTool
    from toolgate.tools.builtin.current_time import CurrentTimeTool
    from toolgate.tools.builtin.edit_file import FileEditTool
    from toolgate.tools.builtin.edit_notebook import NotebookEditTool
    from toolgate.tools.builtin.glob import GlobTool
    from toolgate.tools.builtin.grep import GrepTool
    from toolgate.tools.builtin.ls import ListFilesTool
    from toolgate.tools.builtin.memory_append import MemoryAppendTool
    from toolgate.tools.builtin.memory_search import MemorySearchTool
    from toolgate.tools.builtin.read_file import FileReadTool
    from toolgate.tools.builtin.task import TaskTool
    from toolgate.tools.builtin.terminal import TerminalTool
    from toolgate.tools.builtin.todo import TodoTool
    from toolgate.tools.builtin.web_fetch import WebFetchTool
    from toolgate.tools.builtin.web_search import WebSearchTool
    from toolgate.tools.builtin.write_file import FileWriteTool

__all__ = [
    "ApplyPatchTool",
    "BashTool",
    "CurrentTimeTool",
    "FileEditTool",
    "FileReadTool",
    "FileWriteTool",
    "GlobTool",
    "GrepTool",
    "ListFilesTool",
    "MemoryAppendTool",
    "MemorySearchTool",
    "NotebookEditTool",
    "TaskTool",
    "TerminalTool",
    "TodoTool",
    "WebFetchTool",
    "WebSearchTool",
    "builtin_tools",
    "optional_tools",
]

_WHERE = {
    "FileReadTool": "read_file",
    "FileWriteTool": "write_file",
    "FileEditTool": "edit_file",
    "ApplyPatchTool": "apply_patch",
    "NotebookEditTool": "edit_notebook",
    "ListFilesTool": "ls",
    "GlobTool": "glob",
    "GrepTool": "grep",
    "BashTool": "bash",
    "TerminalTool": "terminal",
    "TaskTool": "task",
    "CurrentTimeTool": "current_time",
    "MemorySearchTool": "memory_search",
    "MemoryAppendTool": "memory_append",
    "TodoTool": "todo",
}

_OF_AGENTS = {
    "ProposePlanTool": "propose_plan",
    "AskUserTool": "ask_user",
    "SkillTool": "skill",
    "LoadToolsTool": "load_tools",
}
"""Tools of an agent that a person talks to."""
_OPTIONAL = {"WebFetchTool": "web_fetch", "WebSearchTool": "web_search"}
"""Tools that are there only if the operator has turned them on."""


def builtin_tools() -> list[Tool[Any]]:
    """One instance of every built-in tool, in the order in which they are shown.

    Their schemas are written down (by scripts/tool_parameters.py): making them takes longer than everything else here.
    """
    return _made(_WHERE)


def agent_tools() -> list[Tool[Any]]:
    """One instance of every tool of an agent that a person talks to."""
    return _made(_OF_AGENTS)


def _made(names: Iterable[str]) -> list[Tool[Any]]:
    tools: list[Tool[Any]] = [__getattr__(name)() for name in names]
    schemas = json.loads(Path(__file__).with_name("parameters.json").read_bytes())
    for tool in tools:
        if tool.name in schemas:
            tool.parameters = schemas[tool.name]
    return tools


def optional_tools(settings: "Settings") -> list[Tool[Any]]:
    """One instance of every tool that these settings turn on."""
    wanted = {"WebFetchTool": settings.web.fetch, "WebSearchTool": settings.web.search is not None}
    return [__getattr__(name)() for name, on in wanted.items() if on]


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name) or _OF_AGENTS.get(name) or _OPTIONAL.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
