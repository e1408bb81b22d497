"""Commands that Bash starts as jobs: in the background, or in a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from toolgate.protocol.envelope import ToolResponse
from toolgate.tools.builtin.bash_answer import command_response
from toolgate.tools.builtin.bash_plan import directory_of
from toolgate.tools.secrets import allowed_secrets

if TYPE_CHECKING:
    from toolgate.agent_commands import Native
    from toolgate.shell.locked_files import Look
    from toolgate.tools.builtin.bash import BashParams
    from toolgate.tools.context import ToolContext

_FIRST_SCREEN = 5.0
"""Most seconds to wait for what a program in a terminal shows first."""
QUIET = 0.3
"""Seconds without output after which its first screen is complete."""


async def run_job(native: Native, params: BashParams, context: ToolContext, look: Look) -> ToolResponse:
    """Start a job. Its deadline is the call's, if the call names one; a terminal is answered with its first screen."""
    from toolgate.shell.console import Console

    shell = context.shell
    console = Console("tty" if params.tty else "pipe")
    result = await shell.execute(
        native.command,
        access=params.access,
        background=True,
        console=console,
        deadline=params.timeout_ms / 1000 if "timeout_ms" in params.model_fields_set else None,
        cwd=directory_of(params, context),
        scripts=context.plan.payload.scripts if context.approved and context.plan is not None else {},
        unlocked=allowed_secrets(context),
        look=look,
        on_output=context.on_output,
    )
    if native.hint:
        result = replace(result, stderr=result.stderr + native.hint)
    if not params.tty or result.job_id is None:
        return command_response(result, params.timeout_ms)
    run = shell.jobs.run(result.job_id)
    await console.wait(run.finished, timeout=_FIRST_SCREEN, quiet=QUIET, speaks=True)
    console.take_recent()
    response = command_response(replace(result, stdout=console.screen.text()), params.timeout_ms)
    info = shell.jobs.get(result.job_id)
    if info.running:
        text = (
            f"Runs in a terminal as {info.id}; this is its screen. Type with Terminal, or 'jobs write {info.id} TEXT'."
        )
        return response.model_copy(update={"text": text})
    advice = shell.hint(run, console.screen.text()) if info.exit_code else ""
    text = " ".join(filter(None, [f"It ran in a terminal as {info.id} and {info.state}; this is its screen.", advice]))
    return response.model_copy(update={"text": text, "data": {**response.data, "exit_code": info.exit_code}})
