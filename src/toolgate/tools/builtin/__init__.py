"""The built-in tools. Each class is imported when it is asked for.

Lives here: one module per tool and, beside it, a `.md` file with the text that the model reads.
May touch: what the context hands in (`workspace/`, `shell/`, ports); nothing else.
Start reading: `current_time.py`, the smallest, then `read_file.py`.
"""

import functools
import importlib
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate.tools.base import Tool
from toolgate.tools.lazy_tool import LazyTool, lazy_tool
from toolgate.tools.text import load_text

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

_MODULES = {
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

_AGENT_MODULES = {
    "ProposePlanTool": "propose_plan",
    "AskUserTool": "ask_user",
    "SkillTool": "skill",
    "LoadToolsTool": "load_tools",
}
"""Tools of an agent that a person talks to."""
_OPTIONAL_MODULES = {"WebFetchTool": "web_fetch", "WebSearchTool": "web_search"}
"""Tools that are there only if the operator has turned them on."""


def builtin_tools() -> list[Tool[Any]]:
    """One instance of every built-in tool, in the order in which they are shown."""
    return [__getattr__(name)() for name in _MODULES]


def agent_tools() -> list[Tool[Any]]:
    """One instance of every tool of an agent that a person talks to."""
    return [__getattr__(name)() for name in _AGENT_MODULES]


def lazy_tools() -> list[LazyTool]:
    """The built-in tools by their declarations in `declarations.json` (written by scripts/tool_declarations.py).

    Importing the modules of all tools takes longer than everything else that Toolgate does before a model is asked.
    """
    return _lazy(_MODULES)


def lazy_agent_tools() -> list[LazyTool]:
    """The same for the tools of an agent that a person talks to."""
    return _lazy(_AGENT_MODULES)


def _lazy(modules: Mapping[str, str]) -> list[LazyTool]:
    declarations = json.loads(Path(__file__).with_name("declarations.json").read_bytes())
    found = list[LazyTool]()
    for name, module in modules.items():
        if importlib.util.find_spec(f"{__name__}.{module}") is None:  # an incomplete installation does not start
            raise ModuleNotFoundError(f"No module named '{__name__}.{module}'", name=f"{__name__}.{module}")
        if name not in declarations:
            raise LookupError(f"declarations.json has no {name!r}: run python scripts/tool_declarations.py")
        description = load_text(str(Path(__file__).with_name(module)))
        found.append(lazy_tool(declarations[name], description, functools.partial(_make, name)))
    return found


def _make(name: str) -> Tool[Any]:
    tool: Tool[Any] = __getattr__(name)()
    return tool


def optional_tools(settings: "Settings") -> list[Tool[Any]]:
    """One instance of every tool that these settings turn on."""
    wanted = {"WebFetchTool": settings.web.fetch, "WebSearchTool": settings.web.search is not None}
    return [__getattr__(name)() for name, on in wanted.items() if on]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name) or _AGENT_MODULES.get(name) or _OPTIONAL_MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
