"""Toolgate: the tool runtime for AI agents.

Importing it is light: nothing is read, created or configured, no database, gateway or SDK is loaded, and every name is
loaded when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate.cli.terminal_approver import TerminalApprover
    from toolgate.compose import open  # noqa: A004 - `toolgate.open(".")` reads like what it does
    from toolgate.errors import PolicyError, ToolError, ToolgateError, UndoRefused
    from toolgate.protocol.approval import Approval, ApprovalChoice, ApprovalRequest
    from toolgate.protocol.calls import ToolCall, ToolDefinition, ToolDenied, ToolResult
    from toolgate.protocol.codes import ErrorCode
    from toolgate.protocol.envelope import Status, ToolResponse
    from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
    from toolgate.protocol.plan import Plan, Precondition
    from toolgate.protocol.ports import Approver
    from toolgate.protocol.record import Decision
    from toolgate.runtime.builtin import builtin_registry
    from toolgate.runtime.deferred_approver import DeferredApprover
    from toolgate.runtime.pending import PendingResult
    from toolgate.runtime.policy import Policy, Rule
    from toolgate.runtime.policy_approver import ApprovalRule, PolicyApprover
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.runtime.toolset import CallableToolset
    from toolgate.tools.base import CallableTool, Tool
    from toolgate.tools.context import ToolContext
    from toolgate.tools.function import tool
    from toolgate.workspace import Workspace

__version__ = "0.1.0"

__all__ = [
    "Approval",
    "ApprovalChoice",
    "ApprovalMode",
    "ApprovalRequest",
    "ApprovalRule",
    "Approver",
    "CallableTool",
    "CallableToolset",
    "Decision",
    "DeferredApprover",
    "ErrorCode",
    "PendingResult",
    "Plan",
    "Policy",
    "PolicyApprover",
    "PolicyError",
    "Precondition",
    "Rule",
    "Status",
    "TerminalApprover",
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

_MODULES = {
    "toolgate.cli.terminal_approver": ["TerminalApprover"],
    "toolgate.compose": ["open"],
    "toolgate.errors": ["PolicyError", "ToolError", "ToolgateError", "UndoRefused"],
    "toolgate.protocol.approval": ["Approval", "ApprovalChoice", "ApprovalRequest"],
    "toolgate.protocol.calls": ["ToolCall", "ToolDefinition", "ToolDenied", "ToolResult"],
    "toolgate.protocol.codes": ["ErrorCode"],
    "toolgate.protocol.envelope": ["Status", "ToolResponse"],
    "toolgate.protocol.modes": ["ApprovalMode", "ToolGroup", "ToolMode"],
    "toolgate.protocol.plan": ["Plan", "Precondition"],
    "toolgate.protocol.ports": ["Approver"],
    "toolgate.protocol.record": ["Decision"],
    "toolgate.runtime.builtin": ["builtin_registry"],
    "toolgate.runtime.deferred_approver": ["DeferredApprover"],
    "toolgate.runtime.pending": ["PendingResult"],
    "toolgate.runtime.policy": ["Policy", "Rule"],
    "toolgate.runtime.policy_approver": ["ApprovalRule", "PolicyApprover"],
    "toolgate.runtime.registry": ["ToolRegistry"],
    "toolgate.runtime.toolset": ["CallableToolset"],
    "toolgate.tools.base": ["CallableTool", "Tool"],
    "toolgate.tools.context": ["ToolContext"],
    "toolgate.tools.function": ["tool"],
    "toolgate.workspace": ["Workspace"],
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'toolgate' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
