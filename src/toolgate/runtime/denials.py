"""Error messages for calls that are refused before their arguments are read."""

from __future__ import annotations

from collections.abc import Sequence

from toolgate.protocol.calls import ToolDenied
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolMode

_MAX_NAME = 100


def shown_name(name: str) -> str:
    """A name that a model made up, short and printable."""
    text = name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


_PROGRAMS = {
    "read_file": "cat FILE",
    "write_file": "cat > FILE <<'EOF'",
    "edit_file": "sed -i 's/OLD/NEW/' FILE",
    "apply_patch": "sed -i 's/OLD/NEW/' FILE",
}
"""What a command of the shell can do in place of a tool that an agent command needs."""


class UnknownTool:
    """The message for a call of an unknown tool. Only names that the caller may use are listed."""

    def __init__(self, available: Sequence[str]) -> None:
        names = f"available tools: {', '.join(available)}." if available else ""
        self._has_bash = not available or "Bash" in available
        self._end = f"; {names}" if self._has_bash and names else names or "."

    def message(self, name: str) -> str:
        """The name that was called, and what can be called instead."""
        shown = name if len(name) <= _MAX_NAME and name.isprintable() else shown_name(name)
        if not self._has_bash:
            return f"Unknown tool '{shown}'. CORRECTION: {self._end}"
        return f"Unknown tool '{shown}'. CORRECTION: to run a command use Bash(command=\"{shown} <args>\"){self._end}"

    def needed_message(self, name: str) -> str:
        """As `message`, for the tool of an agent command: the same command would fail again."""
        program = _PROGRAMS.get(name)
        instead = f'use a program instead, such as Bash(command="{program}")' if program else "continue without it"
        reason = f"Unknown tool '{shown_name(name)}': this command needs it, and it is not available here."
        return f"{reason} CORRECTION: {instead}{self._end}"


def denied(
    name: str, call_id: str, mode: ToolMode, allowed: frozenset[ToolMode], *, coding_enabled: bool
) -> ToolDenied:
    """The denial of a call by the mode; the same call always gets the same text."""
    if not allowed:
        message = f"Tool '{name}' is not enabled in any mode."
        action = "Continue without this tool."
    elif ToolMode.coding in allowed:
        message = f"Tool '{name}' is not allowed in {mode.value} mode: it needs coding mode."
        action = (
            "Start a new session in coding mode."
            if coding_enabled
            else "Coding mode is not enabled here; continue without this tool."
        )
    else:
        message = f"Tool '{name}' is not allowed in {mode.value} mode."
        action = "Continue without this tool."
    return ToolDenied(
        tool_name=name,
        call_id=call_id or "-",
        mode=mode.value,
        error_code=ErrorCode.MODE_DENIED.value,
        message=message,
        next_action=action,
    )


PLAN_NEXT = (
    "Read what you need, then call propose_plan with your plan. Changes can be made after the user has accepted it, or "
    "has switched the session to another approval mode."
)
"""What a model can do in plan mode instead of changing something."""


def not_in_approval_mode(name: str, call_id: str, mode: ToolMode, approval_mode: ApprovalMode) -> ToolDenied:
    """The denial of a call by the person's approval mode."""
    if approval_mode is ApprovalMode.plan:
        message = f"Tool '{name}' is not available: the session is in plan mode, in which nothing is changed."
        action = PLAN_NEXT
    else:
        message = f"Tool '{name}' is not available in the approval mode {approval_mode.value}."
        action = "Continue without this tool."
    return ToolDenied(
        tool_name=name,
        call_id=call_id or "-",
        mode=mode.value,
        error_code=ErrorCode.MODE_DENIED.value,
        message=message,
        next_action=action,
    )


def mode_denied(denial: ToolDenied) -> ToolResponse:
    """The envelope of a mode denial; its data are the six fields."""
    return ToolResponse.failure(
        ErrorCode.MODE_DENIED, denial.message, data=denial.model_dump(), next_step=denial.next_action
    )


def closed() -> ToolResponse:
    """The workspace was closed: the block of `toolgate.open` is over."""
    return ToolResponse.failure(
        ErrorCode.EXECUTION_ERROR,
        "This toolset is closed: its workspace was closed. Nothing was run.",
        next_step="The application has to open it again (toolgate.open, or a new Workspace) and use the new toolset.",
    )


def circuit_open(name: str, seconds: float, reason: str = "") -> ToolResponse:
    """The envelope of a call whose tool is paused."""
    return ToolResponse.failure(
        ErrorCode.CIRCUIT_OPEN,
        f"Tool '{name}' is paused: {reason}." if reason else f"Tool '{name}' failed repeatedly and is paused.",
        next_step=f"Use another tool, or try again in {max(1, round(seconds))} s.",
    )
