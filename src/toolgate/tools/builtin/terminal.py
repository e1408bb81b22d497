"""`Terminal`: types into a running job, and looks at its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.modes import ApprovalMode, ToolGroup, ToolMode
from toolgate.protocol.plan import Plan
from toolgate.tools.base import Tool
from toolgate.tools.builtin.terminal_plan import input_of, is_as_planned, plan_of
from toolgate.tools.context import ToolContext
from toolgate.tools.text import load_text

if TYPE_CHECKING:
    from toolgate.shell.command_run import CommandRun
    from toolgate.shell.console import Console

QUIET = 0.3
"""Seconds without output after which a job counts as quiet."""
_FOUND = {
    "found": "It printed what was waited for.",
    "quiet": "",
    "ended": "",
    "timeout": "The time to wait is over, and it may still print.",
}


class TerminalParams(BaseModel):
    """What to type, and what to wait for."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    job: str = Field(description="Its id.")
    text: str = Field("", description="A newline is Enter.")
    keys: list[str] = Field([], description="Then pressed: Up, C-c …")
    wait_for: str = Field("", description="Else until quiet.")
    timeout_ms: int = Field(10_000, ge=1, le=600_000, description="To wait.")
    columns: int = Field(0, ge=0, description="New width.")
    rows: int = Field(0, ge=0, description="New height.")
    stop: bool = Field(False, description="End it.")


class TerminalTool(Tool[TerminalParams]):
    """Types into jobs; what is typed is judged like a command."""

    name = "Terminal"
    description = load_text(__file__)
    Params = TerminalParams
    group = ToolGroup.code
    allowed_modes = frozenset({ToolMode.coding})
    # in plan mode only input of jobs that the kernel keeps from changing anything
    approval_modes = frozenset(ApprovalMode)
    deferred = True
    keep = "tail"
    keep_data = ("job_id", "running", "exit_code", "cursor")

    async def prepare(self, params: TerminalParams, context: ToolContext) -> Plan:
        """What the input may run."""
        return await plan_of(params, context)

    async def execute(self, params: TerminalParams, context: ToolContext) -> ToolResponse:
        """Type, wait and look."""
        jobs = context.shell.jobs
        run = jobs.run(params.job)
        plan = context.plan or await plan_of(params, context)
        if not is_as_planned(params, run, plan):
            raise ToolError(
                ErrorCode.CONFLICT,
                "The job got other input, or ended, after this call was planned; nothing was typed.",
                "Look at it again, then make the call again.",
            )
        from toolgate.shell.console import MAX_SIZE

        console = run.console
        if params.stop:
            await jobs.stop(params.job)
            return _answer(params, run, context, "")
        if console is None:
            raise _no_input(params.job)
        if params.columns or params.rows:
            console.resize(
                min(params.columns or console.screen.columns, MAX_SIZE),
                min(params.rows or console.screen.rows, MAX_SIZE),
            )
        typed = input_of(params, console)
        if typed.sends:
            console.check(typed.codes)
            console.take_recent()
            console.typed += typed.text
            console.send(typed.codes)
            if typed.ends_input:
                console.end_input()
        outcome = await console.wait(
            run.finished,
            timeout=params.timeout_ms / 1000,
            quiet=None if params.wait_for else QUIET,
            text=params.wait_for,
            already=not typed.sends,
            reacts=typed.sends or bool(params.columns or params.rows),
        )
        return _answer(params, run, context, outcome)

    def render(self, response: ToolResponse) -> str:
        """The screen, and how the job is."""
        screen = response.data.get("screen")
        return response.text if not screen else f"{screen.rstrip()}\n[{response.text}]"


def _answer(params: TerminalParams, run: CommandRun, context: ToolContext, outcome: str) -> ToolResponse:
    info = context.shell.jobs.get(params.job)
    console = run.console
    data: dict[str, Any] = {"job_id": params.job, "running": info.running, "exit_code": info.exit_code}
    if console is not None:
        data["screen"] = shown(console)
        if console.kind == "tty":
            data["cursor"] = [console.screen.row, console.screen.column]
    state = f"{params.job} is {info.state}." if info.running else f"{params.job} {info.state}."
    text = " ".join(filter(None, [_FOUND.get(outcome, ""), state]))
    if params.wait_for and outcome in ("timeout", "ended"):
        text = f"It did not print {params.wait_for[:80]!r}. {state}"
        return ToolResponse.partial(data, text)
    return ToolResponse.success(data, text)


def shown(console: Console) -> str:
    """What a person sees: the screen, or what a job without a terminal has printed since the last look."""
    recent = console.take_recent()
    return console.screen.text() if console.kind == "tty" else recent


def _no_input(job: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PARAM,
        f"{job} takes no input: it was not started with tty or background.",
        "Start the command again with tty=true.",
    )
