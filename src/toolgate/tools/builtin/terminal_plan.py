"""The plan of a Terminal call: what is typed into a job, and what that may run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Plan

if TYPE_CHECKING:
    from toolgate.command.analysis import CommandPlan
    from toolgate.shell.command_run import CommandRun
    from toolgate.shell.console import Console
    from toolgate.tools.builtin.terminal import TerminalParams
    from toolgate.tools.context import ToolContext

_PLAIN_KEYS = {"\r": "\n", "\x03": "\n", "\x04": "\n", "\x1c": "\n", " ": " "}
"""Codes of keys that neither edit nor recall a line → what they are to the analysis. Those that end something begin a
new line there."""
_MAX_TEXT, _MAX_KEYS = 65_536, 100
_SHORT = 4096
"""Characters that are analysed on the event loop."""
_ONCE = "what a program does with its input depends on what it was given before"


class Input(NamedTuple):
    """Text and keys for a job."""

    codes: str
    """What is sent."""
    text: str
    """The same as the analysis of commands reads it."""
    edits: bool
    """Whether a key may edit or recall a line."""
    ends_input: bool
    """Whether the input of a pipe is closed after it."""

    @property
    def sends(self) -> bool:
        """Whether the job gets anything."""
        return bool(self.codes or self.ends_input)


def input_of(params: TerminalParams, console: Console) -> Input:
    """The input as codes: in a terminal a newline is the key Enter."""
    from toolgate.shell.keys import END_OF_INPUT, key_code

    if len(params.text) > _MAX_TEXT or len(params.keys) > _MAX_KEYS:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            f"Invalid parameters for Terminal: at most {_MAX_TEXT:,} characters and {_MAX_KEYS} keys in one call.",
            "Type it in several calls, or have the program read a file.",
        )
    keys = [key_code(name, application=console.screen.application_keys) for name in params.keys]
    if console.kind == "pipe":
        return _for_pipe(params, keys, END_OF_INPUT)
    codes = params.text.replace("\r\n", "\n").replace("\n", "\r") + "".join(keys)
    text = params.text + "".join(_PLAIN_KEYS.get(code, "") for code in keys)
    return Input(codes=codes, text=text, edits=any(code not in _PLAIN_KEYS for code in keys), ends_input=False)


def _for_pipe(params: TerminalParams, keys: list[str], end: str) -> Input:
    if any(code not in ("\r", end, " ") for code in keys) or end in keys[:-1]:
        raise ToolError(
            ErrorCode.INVALID_PARAM,
            "Invalid parameters for Terminal: a job without a terminal takes only Enter, Space and, last, C-d.",
            "Start the command with tty=true for other keys, or use stop.",
        )
    text = params.text + "".join("\n" if code == "\r" else code for code in keys if code != end)
    return Input(codes=text, text=text, edits=False, ends_input=end in keys)


async def plan_of(params: TerminalParams, context: ToolContext) -> Plan:
    """The plan of a call: looking needs no permission, and typing is judged like the command itself."""
    if context.workspace is None:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR, "This session has no project, so it has no jobs.", "Go on without it."
        )
    run = context.shell.jobs.run(params.job)
    console = run.console
    typed = None if console is None else input_of(params, console)
    if params.stop or console is None or typed is None or not typed.sends:
        if params.stop and (params.text or params.keys):
            raise ToolError(
                ErrorCode.INVALID_PARAM,
                "Invalid parameters for Terminal: stop takes neither text nor keys.",
                "Type first, then make a call with stop alone.",
            )
        verb = "Stop" if params.stop else "Look at"
        return Plan(summary=f"{verb} {params.job}", access="read", harmless=((),), plain=True)
    console.check(typed.codes)
    if len(console.typed) + len(typed.text) + len(run.command) <= _SHORT:
        analysed = _analysed(run, console, typed, context)
    else:
        analysed = await asyncio.to_thread(_analysed, run, console, typed, context)
    return _described(params, run, typed, analysed, context)


def is_as_planned(params: TerminalParams, run: CommandRun, plan: Plan) -> bool:
    """Whether the job has got no other input since the plan was made, and the keys still mean the same."""
    console = run.console
    if plan.payload is None or console is None:
        return plan.payload is None
    return bool(plan.payload == (console.typed, input_of(params, console)))


def _analysed(run: CommandRun, console: Console, typed: Input, context: ToolContext) -> CommandPlan:
    from toolgate.command.analysis.typed_input import TypedInput, analyse_input
    from toolgate.shell.surroundings import surroundings

    return analyse_input(
        TypedInput(
            command=run.command,
            before=console.typed,
            text=typed.text,
            keys=typed.edits,
            terminal=console.kind == "tty",
        ),
        surroundings(context.require_workspace(), context.shell.state(run.access)),
    )


def _described(
    params: TerminalParams, run: CommandRun, typed: Input, analysed: CommandPlan, context: ToolContext
) -> Plan:
    from toolgate.command.analysis import request_detail, request_summary

    report = context.shell.sandbox(run.access)
    reasons = list(analysed.dangers)
    if run.access == "full":
        reasons.append("full access: network, and more than the project")
    reasons += [f"the sandbox does not enforce: {missing}" for missing in report.unconfined]
    keys = f"   keys: {' '.join(params.keys)}" if params.keys else ""
    detail = request_detail(params.text, access=run.access, reasons=reasons, once=_ONCE)
    return Plan(
        summary=f"Type into {params.job} ({request_summary(run.command)}): {request_summary(params.text)}{keys}",
        detail=f"{detail}\ntyped into {params.job}: {request_summary(run.command)}{keys}",
        access=run.access,
        resources=(".",),
        commands=analysed.commands,
        harmless=analysed.harmless,
        plain=analysed.plain and not typed.edits,
        suspects=analysed.suspects,
        asks=bool(reasons),
        unconfined=bool(report.unconfined),
        reason="; ".join(reasons),
        once=_ONCE,
        payload=(run.console.typed if run.console is not None else "", typed),
    )
