"""What a Bash call is going to run, known before anyone is asked."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Plan

if TYPE_CHECKING:
    from toolgate.shell.analysis import CommandPlan
    from toolgate.shell.commands import Native, Outcome
    from toolgate.shell.result import SandboxReport
    from toolgate.shell.state import ShellState
    from toolgate.tools.builtin.bash import BashParams
    from toolgate.tools.context import ToolContext
    from toolgate.workspace import Workspace

_LARGEST_COMMAND = 1 << 20
_FEW_SCRIPTS = 4
"""How many scripts are hashed on the event loop."""
_LARGEST_SCRIPT = 1 << 20
"""Bytes of a script that are hashed; a larger one is known by its identity and its times."""


def parsed(params: BashParams, context: ToolContext) -> Outcome:
    """What the command line is, typed where the shell will be."""
    from toolgate.shell.router import parse

    shell = context.shell
    return parse(params.command, "." if params.restart else shell.cwd, shell.exists)


async def plan_of(params: BashParams, context: ToolContext) -> Plan:
    """The plan of a call, in the shell as it is now."""
    from toolgate.shell.commands import Native, RoutedCall

    if not params.command.strip():
        return _restart(params)
    outcome = parsed(params, context)
    if isinstance(outcome, Native):
        return await _native(outcome, params, context)
    if isinstance(outcome, RoutedCall):  # otherwise it would have been rewritten, and here nothing judges it
        raise _invalid(
            f"command: '{outcome.command}' is a command of this runtime and takes neither background nor restart.",
            "Make the call without them.",
        )
    return _about_the_session(f"Run: {params.command[:200]}")


def _restart(params: BashParams) -> Plan:
    if params.restart:
        return _about_the_session("Restart the shell")
    raise _invalid("command: required unless restart is true.", 'Call it with {"command": "ls"}.')


def _invalid(problem: str, next_step: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_PARAM, f"Invalid parameters for Bash: {problem}", next_step)


def _about_the_session(summary: str) -> Plan:
    """Runs nothing in the shell: no rule is needed to allow it."""
    return Plan(summary=summary, access="read", harmless=((),), plain=True)


async def _native(native: Native, params: BashParams, context: ToolContext) -> Plan:
    """The plan of a command of the shell. A long one is analysed in a thread, so that the event loop goes on."""
    from toolgate.shell.analysis import analyse, analyse_quickly, surroundings
    from toolgate.shell.checks import check_command

    workspace, command = context.require_workspace(), native.command
    check_command(command, _LARGEST_COMMAND)
    report = context.shell.sandbox(params.access)
    shell = _shell_for(params, context)
    around = surroundings(workspace, shell[0])

    def plan(analysed: CommandPlan) -> Plan:
        return _described(analysed, native, params, context, report, shell)

    quick = analyse_quickly(command, around)
    if quick is not None and len(quick.scripts) <= _FEW_SCRIPTS:
        return plan(quick)
    return await asyncio.to_thread(lambda: plan(analyse(command, around)))


def _described(
    analysed: CommandPlan,
    native: Native,
    params: BashParams,
    context: ToolContext,
    report: SandboxReport,
    shell: tuple[ShellState, str, dict[str, str]],
) -> Plan:
    from toolgate.shell.analysis import request_detail, squeezed, visible

    workspace, command = context.require_workspace(), native.command
    _, cwd, changes = shell
    reasons = list(analysed.dangers)
    if params.access == "full":
        reasons.append("full access: network, and more than the project")
        reasons += [f"it may write '{place}'" for place in report.roots]
    reasons += [f"the sandbox does not enforce: {missing}" for missing in report.unconfined]
    elsewhere = _looked_up_elsewhere(changes, context)
    reasons += [f"PATH finds programs in {place!r}, which an earlier command put there" for place in elsewhere]
    how = " in the background" if params.background else " (it goes on in the background)" if native.keep else ""
    return Plan(
        summary=f"Run{how}: {squeezed(visible(command, keep=''))[:200]}",
        detail=request_detail(
            command,
            cwd=cwd,
            access=params.access,
            reasons=reasons,
            environment=changes,
            scripts={path: _digest(workspace, path) for path in analysed.scripts},
        ),
        access=params.access,
        resources=(".",),
        commands=analysed.commands,
        harmless=analysed.harmless,
        plain=analysed.plain and not elsewhere,
        suspects=analysed.suspects,
        asks=bool(reasons),
        reason="; ".join(reasons),
    )


def _shell_for(params: BashParams, context: ToolContext) -> tuple[ShellState, str, dict[str, str]]:
    """The state that the command will find, its directory and what changed in its environment."""
    shell = context.shell
    if params.restart:
        return shell.fresh_state(), ".", {}
    return shell.state(params.access), shell.cwd, dict(shell.view(params.access).changes)


def _looked_up_elsewhere(changes: dict[str, str], context: ToolContext) -> list[str]:
    """Directories outside the project that a command has put into `PATH`: any word may then be anything.

    Those inside the project are followed by the analysis, which knows what lies in them.
    """
    if "PATH" not in changes:
        return []
    root = str(context.require_workspace().root)
    before = context.shell.fresh_state().environment.get(b"PATH", b"").decode(errors="replace").split(":")
    return [
        place
        for place in dict.fromkeys(changes["PATH"].split(":"))
        if place.startswith("/") and place not in before and place != root and not place.startswith(f"{root}/")
    ]


def _digest(workspace: Workspace, path: str) -> str:
    """What stands for the content of a script, so that an approval is for that too."""
    try:
        with workspace.open_file(path) as file:
            if file.stat.st_size <= _LARGEST_SCRIPT:
                return hashlib.sha256(os.pread(file.fd, _LARGEST_SCRIPT, 0)).hexdigest()
        return hashlib.sha256(workspace.state(path).encode()).hexdigest()
    except ToolError as error:
        return f"none: {error.code.value}"
