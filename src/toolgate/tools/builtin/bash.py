"""`Bash`: commands in the session's sandboxed shell, and agent commands typed into it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.plan import Access, Plan
from toolgate.tools.base import Reroute, Tool
from toolgate.tools.builtin.bash_answer import (
    category_of,
    command_response,
    data_of,
    kept_job_response,
    render,
    restart_response,
    shown_directory,
)
from toolgate.tools.builtin.bash_job import run_job
from toolgate.tools.builtin.bash_plan import directory_of, is_as_planned, parsed, plan_of
from toolgate.tools.context import ToolContext
from toolgate.tools.secrets import allowed_secrets
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate.agent_commands import Native
    from toolgate.shell.locked_files import Look


class BashParams(BaseModel):
    """What to run, and how."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    command: str = Field("", description="The command line. May be left out with 'restart'.")
    access: Access = Field(
        "write",
        description="'read': the project is read-only. 'write': the project can be changed. "
        "'full': network and more; a person is asked.",
    )
    timeout_ms: int = Field(120_000, ge=1, le=600_000, description="Milliseconds after which everything is ended.")
    background: bool = Field(False, description="Start it as a job and return its id at once.")
    tty: bool = Field(False, description="A job in a terminal; see Terminal.")
    cwd: str = Field("", description="Directory for this command only.")
    restart: bool = Field(False, description="Forget the shell's directory, variables and functions first.")


class BashTool(Tool[BashParams]):
    """Runs commands. An agent command becomes a call of its tool instead."""

    name = "Bash"
    description = load_text(__file__)
    Params = BashParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    approval_modes = frozenset(ApprovalMode)  # in plan mode only commands that the kernel keeps from changing anything
    keep = "head_tail"
    keep_data = ("exit_code", "timed_out", "sandbox", "job_id", "full_output")

    def reroute(self, params: BashParams, context: ToolContext) -> Reroute | None:
        """The call that an agent command is turned into."""
        if params.restart or params.background or params.tty or context.workspace is None:
            return None
        outcome = parsed(params, context)
        from toolgate.agent_commands import RoutedCall
        from toolgate.agent_commands.answer import as_typed, to_bash_response
        from toolgate.agent_commands.router import from_root

        if not isinstance(outcome, RoutedCall):
            return None
        arguments = from_root(outcome)

        def answer(response: ToolResponse, render: Callable[[ToolResponse], str]) -> ToolResponse:
            directory = shown_directory(outcome.cwd)
            typed = as_typed(response, outcome, arguments)
            typed = typed.model_copy(update={"context": {**typed.context, "cwd": directory}})
            return to_bash_response(typed, outcome.command, render)

        return Reroute(tool_name=outcome.tool_name, arguments=arguments, answer=answer)

    async def prepare(self, params: BashParams, context: ToolContext) -> Plan:
        """What the command may run, in the shell as it is now."""
        return await plan_of(params, context)

    async def execute(self, params: BashParams, context: ToolContext) -> ToolResponse:
        """Run what was planned, if the shell is still as it was."""
        now = await plan_of(params, context, _look_of(context))
        if context.plan is not None and not is_as_planned(now, context.plan, context.approved):
            raise ToolError(
                ErrorCode.CONFLICT,
                "The shell or a script of this command changed after it was planned; nothing was run.",
                "Make the call again.",
            )
        from toolgate.agent_commands import Native, SessionCommand, Usage
        from toolgate.agent_commands.answer import usage_response

        outcome = parsed(params, context)
        if params.restart:
            await context.shell.restart()
        if not params.command.strip():
            return restart_response(context.shell)
        if isinstance(outcome, Usage):
            return usage_response(outcome).model_copy(update={"context": {"cwd": shown_directory(context.shell.cwd)}})
        if isinstance(outcome, SessionCommand):
            from toolgate.tools.builtin.bash_session import run_session_command

            return await run_session_command(outcome, params.timeout_ms, context)
        assert isinstance(outcome, Native)  # `prepare` has refused every other outcome
        return await _run(outcome, params, context, now.payload.look)

    def category(self, response: ToolResponse) -> str | None:
        """What kind of failure an exit code means."""
        return category_of(response)

    def render(self, response: ToolResponse) -> str:
        """What a terminal would have shown, and how it ended."""
        return render(response)


def _look_of(context: ToolContext) -> Look | None:
    """The look that the plan was made with; None if an approver or a recorder had its turn since, waiting or not."""
    if context.approved or context.recorder is not None or context.plan is None or context.plan.payload is None:
        return None
    look: Look = context.plan.payload.look
    return look


async def _run(native: Native, params: BashParams, context: ToolContext, look: Look) -> ToolResponse:
    shell = context.shell
    shell.interrupted = None
    if params.background or params.tty:
        return await run_job(native, params, context, look)
    seconds = params.timeout_ms / 1000 if native.after is None else min(native.after, params.timeout_ms / 1000)
    try:
        result = await shell.execute(
            native.command,
            timeout=seconds,
            access=params.access,
            to_background=native.keep,
            cwd=directory_of(params, context),
            scripts=context.plan.payload.scripts if context.approved and context.plan is not None else {},
            unlocked=allowed_secrets(context),
            look=look,
            on_output=context.on_output,
        )
    except asyncio.CancelledError:
        interrupted = context.shell.interrupted
        context.cancelled_data = data_of(interrupted) if interrupted is not None else {}
        raise
    if native.hint:
        result = replace(result, stderr=result.stderr + native.hint)
    full = None
    if result.truncated:
        from toolgate.tools.builtin.bash_full_output import keep_full_output

        full = await keep_full_output(context, result.stdout_info, result.stderr_info)
    if result.job_id is not None:
        return kept_job_response(result, seconds, full)
    return command_response(result, params.timeout_ms, full, context.visible_tools)
