"""Toolgate: the tool runtime for AI agents.

Importing it is light: nothing is read, created or configured, and no database, gateway or SDK is loaded.
"""

from typing import TYPE_CHECKING, Any

from toolgate.errors import PolicyError, ToolError, ToolgateError, UndoRefused
from toolgate.protocol.approval import Approval, ApprovalRequest
from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolDenied, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import Status, ToolResponse
from toolgate.protocol.modes import ToolGroup, ToolMode
from toolgate.protocol.plan import Plan, Precondition
from toolgate.protocol.ports import Approver
from toolgate.protocol.record import Decision
from toolgate.runtime.pending import PendingResult
from toolgate.runtime.registry import ToolRegistry
from toolgate.runtime.toolset import CallableToolset
from toolgate.tools.base import CallableTool, Tool
from toolgate.tools.context import ToolContext
from toolgate.tools.function import tool

if TYPE_CHECKING:
    from toolgate.compose import open  # noqa: A004 - `toolgate.open(".")` reads like what it does
    from toolgate.runtime.builtin import builtin_registry
    from toolgate.workspace import Workspace

__version__ = "0.1.0"

__all__ = [
    "Approval",
    "ApprovalRequest",
    "Approver",
    "CallableTool",
    "CallableToolset",
    "Decision",
    "ErrorCode",
    "PendingResult",
    "Plan",
    "PolicyError",
    "Precondition",
    "Status",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolDefinition",
    "ToolDenied",
    "ToolError",
    "ToolGroup",
    "ToolMode",
    "ToolRegistry",
    "ToolResponse",
    "ToolResult",
    "ToolgateError",
    "UndoRefused",
    "Workspace",
    "builtin_registry",
    "open",
    "tool",
]

_LAZY = {
    "Workspace": "toolgate.workspace",
    "builtin_registry": "toolgate.runtime.builtin",
    "open": "toolgate.compose",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'toolgate' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
