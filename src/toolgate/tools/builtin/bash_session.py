"""`jobs`, `tools` and `todo` without items: agent commands about the session itself, which no tool fronts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolError
from toolgate.protocol.envelope import ToolResponse
from toolgate.tools.builtin.bash_answer import command_response
from toolgate.tools.builtin.bash_full_output import FullOutput, keep_full_output
from toolgate.tools.context import ToolContext

if TYPE_CHECKING:
    from toolgate.agent_commands import SessionCommand
    from toolgate.shell.result import CommandResult


async def run_session_command(command: SessionCommand, timeout_ms: int, context: ToolContext) -> ToolResponse:
    """The answer of a command about the session."""
    result, full = await _run(command, timeout_ms, context)
    return command_response(replace(result, cwd=context.shell.cwd), timeout_ms, full)


async def _run(
    command: SessionCommand, timeout_ms: int, context: ToolContext
) -> tuple[CommandResult, FullOutput | None]:
    from toolgate.agent_commands import list_tools
    from toolgate.shell.result import CommandResult

    if command.command == "jobs":
        return await _jobs(command.arguments, timeout_ms / 1000, context)
    if command.command == "tools":
        shown = context.visible_tools() if context.visible_tools is not None else []
        query = command.arguments.get("query", "")
        if context.loaded_tools is not None and any(tool.name == query for tool in shown):
            context.loaded_tools.add(query)
        return CommandResult(list_tools(shown, query), "", 0), None
    items = await context.todos.items() if context.todos is not None else context.state.todos
    lines = [f"[{item['status']}] {item['content']}\n" for item in items]
    return CommandResult("".join(lines) or "The list is empty.\n", "", 0), None


async def _jobs(
    arguments: dict[str, Any], seconds: float, context: ToolContext
) -> tuple[CommandResult, FullOutput | None]:
    """A `jobs` command, which waits no longer than the call may take; a job that is not known is exit code 1."""
    from toolgate.agent_commands import run_jobs
    from toolgate.shell.result import CommandResult

    jobs = context.shell.jobs
    if arguments["action"] == "wait":
        arguments = {**arguments, "timeout": min(arguments.get("timeout", seconds), seconds)}
    try:
        result = await run_jobs(jobs, arguments)
        if arguments["action"] not in ("output", "wait"):
            return result, None
        stdout, stderr = jobs.streams(arguments["id"])
    except ToolError as error:
        return CommandResult("", f"{error.message} {error.next_step}".strip() + "\n", 1), None
    if not (stdout.truncated or stderr.truncated):
        return result, None
    return replace(result, truncated=True), await keep_full_output(context, stdout, stderr)
