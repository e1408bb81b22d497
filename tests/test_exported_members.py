"""The public names: `__all__` is sorted, everything in it is there, and everything that is there is in it."""

import types

import toolgate

CONTRACT = {
    "Approval",
    "ApprovalRequest",
    "Approver",
    "CallableTool",
    "CallableToolset",
    "ErrorCode",
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
    "Workspace",
    "builtin_registry",
    "open",
    "tool",
}


def test_all_of_the_contract_is_exported() -> None:
    assert set(toolgate.__all__) >= CONTRACT


def test_every_exported_name_is_there() -> None:
    assert [name for name in toolgate.__all__ if getattr(toolgate, name, None) is None] == []


def test_nothing_public_is_left_out_of_all() -> None:
    public = {
        name
        for name, value in vars(toolgate).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name not in {"Any", "TYPE_CHECKING"}
    }

    assert public <= set(toolgate.__all__)


def test_all_is_sorted_and_without_repetition() -> None:
    assert toolgate.__all__ == sorted(set(toolgate.__all__))
