"""`Bash`: commands in the session's sandboxed shell, and agent commands typed into it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ToolMode
from toolgate.protocol.plan import Access, Plan
from toolgate.tools.base import Reroute, Tool
from toolgate.tools.builtin.bash_answer import answered, category_of, render
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from toolgate.protocol.calls import ToolResult
    from toolgate.shell import ShellSession
    from toolgate.shell.commands import Outcome, RoutedCall
    from toolgate.workspace import Workspace

_LARGEST_SCRIPT = 4 << 20


class BashParams(BaseModel):
    """What to run, and how."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field("", description="The command line. May be left out with 'restart'.")
    access: Access = Field(
        "write",
        description="'read': the project is read-only. 'write': the project can be changed. "
        "'full': network and more; a person is asked.",
    )
    timeout_ms: int = Field(120_000, ge=1, le=600_000, description="Milliseconds after which everything is ended.")
    background: bool = Field(False, description="Start it as a job and return its id at once.")
    restart: bool = Field(False, description="Forget the shell's directory, variables and functions first.")


class BashTool(Tool[BashParams]):
    """Runs commands; what is an agent command is the call of its tool instead."""

    name = "Bash"
    description = load_text(__file__)
    Params = BashParams
    allowed_modes = frozenset({ToolMode.coding})
    keep = "head_tail"

    def reroute(self, params: BashParams, context: ToolContext) -> Reroute | None:
        """The call that an agent command stands for."""
        if params.restart or params.background or context.workspace is None:
            return None
        outcome = _parsed(params.command, context)
        from toolgate.shell.commands import RoutedCall

        if not isinstance(outcome, RoutedCall):
            return None
        return _rerouted(outcome, context.shell.cwd)

    async def prepare(self, params: BashParams, context: ToolContext) -> Plan:
        """What the command may run, in the shell as it is now."""
        return _plan(params, context)

    async def execute(self, params: BashParams, context: ToolContext) -> ToolResponse:
        """Run what was planned, if the shell is still as it was."""
        shell = context.shell
        shown = context.plan
        if shown is not None and _plan(params, context).model_dump() != shown.model_dump():
            raise ToolError(
                ErrorCode.CONFLICT,
                "The shell or a script of this command changed after it was planned; nothing was run.",
                "Make the call again.",
            )
        if params.restart:
            await shell.restart()
        if not params.command.strip():
            return answered_restart(shell)
        outcome = _parsed(params.command, context)
        from toolgate.shell.commands import Native, SessionCommand, Usage
        from toolgate.shell.commands.answer import usage_response

        if isinstance(outcome, Usage):
            return usage_response(outcome).model_copy(update={"context": {"cwd": shell.cwd}})
        if isinstance(outcome, SessionCommand):
            return await _session_command(outcome, context)
        text = outcome.command if isinstance(outcome, Native) else params.command
        result = await shell.execute(
            text,
            timeout=params.timeout_ms / 1000,
            access=params.access,
            background=params.background,
            on_output=context.on_output,
        )
        return answered(result, params.timeout_ms, outcome.hint if isinstance(outcome, Native) else "")

    def category(self, response: ToolResponse) -> str | None:
        """What kind of failure an exit code means."""
        return category_of(response)

    def render(self, response: ToolResponse) -> str:
        """What a terminal would have shown, and how it ended."""
        return render(response)


def answered_restart(shell: ShellSession) -> ToolResponse:
    """The answer to `restart` alone."""
    data = {"stdout": "", "stderr": "", "exit_code": 0, "truncated": False, "sandbox": shell.sandbox().to_dict()}
    return ToolResponse.success(data, "The shell starts anew.", context={"cwd": shell.cwd})


def _parsed(command: str, context: ToolContext) -> Outcome:
    from toolgate.shell.router import parse

    return parse(command, context.shell.cwd, context.shell.exists)


def _rerouted(routed: RoutedCall, cwd: str) -> Reroute:
    from toolgate.shell.commands.answer import to_bash_response
    from toolgate.shell.router import from_root

    def answer(result: ToolResult) -> ToolResponse:
        response = to_bash_response(result, routed.command)
        return response.model_copy(update={"context": {**response.context, "cwd": cwd}})

    return Reroute(tool_name=routed.tool_name, arguments=from_root(routed), answer=answer)


def _plan(params: BashParams, context: ToolContext) -> Plan:
    if not params.command.strip():
        if not params.restart:
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                "Invalid parameters for Bash: command: required unless restart is true.",
                'Call it with {"command": "ls"}.',
            )
        return Plan(summary="Restart the shell", access="read", plain=True)
    from toolgate.shell.commands import Native

    outcome = _parsed(params.command, context)
    if isinstance(outcome, Native):
        return _native_plan(outcome.command, params, context)
    return Plan(summary=f"Run: {params.command[:200]}", access="read", plain=True)


def _native_plan(command: str, params: BashParams, context: ToolContext) -> Plan:
    from toolgate.shell.analysis import analyse, request_detail, squeezed, surroundings, visible
    from toolgate.shell.checks import check_command

    shell = context.shell
    workspace = context.require_workspace()
    check_command(command, 1 << 20)
    report = shell.sandbox(params.access)
    analysed = analyse(command, surroundings(workspace, shell.state(params.access)))
    view = shell.view(params.access)
    reasons = list(analysed.dangers)
    if params.access == "full":
        reasons.append("full access: network, and more than the project")
    reasons += [f"the sandbox does not enforce: {missing}" for missing in report.missing]
    scripts = {path: _digest(workspace, path) for path in analysed.scripts}
    return Plan(
        summary=f"Run: {squeezed(visible(command, keep=''))[:200]}",
        detail=request_detail(
            command,
            cwd=shell.cwd,
            access=params.access,
            reasons=reasons,
            environment=dict(view.changes),
            scripts=scripts,
        ),
        access=params.access,
        resources=(".",),
        commands=analysed.commands,
        harmless=analysed.harmless,
        plain=analysed.plain,
        asks=bool(reasons),
        reason="; ".join(reasons),
    )


def _digest(workspace: Workspace, path: str) -> str:
    """The hash of a script, so that an approval is for its content too; a file that cannot be read has none."""
    import os

    try:
        with workspace.open_file(path) as file:
            return hashlib.sha256(os.pread(file.fd, _LARGEST_SCRIPT, 0)).hexdigest()
    except ToolError:
        return "unreadable"


async def _session_command(command: Any, context: ToolContext) -> ToolResponse:
    """`jobs` and `tools`: about the session itself."""
    from toolgate.shell.commands import list_tools, run_jobs
    from toolgate.shell.result import CommandResult

    shell = context.shell
    if command.command == "jobs":
        result = await run_jobs(shell.jobs, command.arguments)
    elif command.command == "tools":
        shown = context.visible_tools() if context.visible_tools is not None else []
        result = CommandResult(list_tools(shown, command.arguments.get("query", "")), "", 0)
    else:
        items = await context.todos.items() if context.todos is not None else context.shared.get("todos", [])
        lines = [f"[{item['status']}] {item['content']}\n" for item in items]
        result = CommandResult("".join(lines) or "The list is empty.\n", "", 0)
    return answered(replace(result, cwd=shell.cwd), 0)
