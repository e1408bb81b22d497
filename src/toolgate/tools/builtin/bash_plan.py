"""The plan of a Bash call: what it is going to run, known before a person is asked."""

from __future__ import annotations

import asyncio
import posixpath
import stat
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from toolgate.errors import ToolError
from toolgate.garbage import collection_postponed
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate.agent_commands import Native, Outcome
    from toolgate.command.analysis import CommandPlan
    from toolgate.shell.locked_files import Look
    from toolgate.shell.result import SandboxReport
    from toolgate.shell.state import ShellState
    from toolgate.tools.builtin.bash import BashParams
    from toolgate.tools.context import ToolContext

_MAX_COMMAND = 1 << 20
_MAX_FILES = 4
"""How many files are hashed on the event loop."""
_MAX_REASONS = 5
_UNSET = frozenset({"CDPATH", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID", "PWD"})
"""Variables that need not be shown where the session does not set them."""


class Steps(NamedTuple):
    """What `prepare` hands to `execute`."""

    scripts: Mapping[str, str]
    """The files that run, with the hashes that were shown."""
    detail: str
    """The request without the files that the command reads."""
    look: Look
    """Which files commands could not read when this was planned."""

    def is_same(self, other: object) -> bool:
        """Whether the same would run and be shown."""
        return isinstance(other, Steps) and (self.scripts, self.detail) == (other.scripts, other.detail)


def parsed(params: BashParams, context: ToolContext) -> Outcome:
    """Parse the command line in the directory where the shell will be. No shell is started for this."""
    directory = "." if params.restart else context.shell_directory
    workspace = context.require_workspace()
    if params.cwd:
        directory = workspace.relative(params.cwd)
    from toolgate.agent_commands.router import parse

    def exists(path: str) -> bool:
        from toolgate.shell.options import is_file_below, readable_places

        settings = context.settings
        return workspace.is_file(path) or is_file_below(path, (*readable_places(settings), *settings.workspace.extra))

    return parse(params.command, directory, exists)


def directory_of(params: BashParams, context: ToolContext) -> str | None:
    """The absolute directory of this command only; None if it runs in the shell's. Refuses one that does not exist."""
    if not params.cwd:
        return None
    workspace = context.require_workspace()
    relative = workspace.relative(params.cwd)
    info = workspace.stat(relative)
    if info is None or not stat.S_ISDIR(info.st_mode):
        raise _invalid(
            f"cwd: there is no directory '{params.cwd[:200]}' in the project.",
            "Leave it out for the shell's own directory, or look with ls.",
        )
    return posixpath.normpath(posixpath.join(str(workspace.root), relative))


async def plan_of(params: BashParams, context: ToolContext, look: Look | None = None) -> Plan:
    """The plan of a call, in the shell as it is now. If `look` still holds, secret files are not looked for again."""
    from toolgate.agent_commands import Native, RoutedCall

    if not params.command.strip():
        return _restart(params)
    outcome = parsed(params, context)
    if isinstance(outcome, Native):
        return await _command_plan(outcome, params, context, look)
    if isinstance(outcome, RoutedCall):  # without these options it would have become a tool call of its own
        raise _invalid(
            f"command: '{outcome.command}' is a command of this runtime and takes no background, tty or restart.",
            "Make the call without them.",
        )
    return _session_plan(f"Run: {params.command[:200]}")


def is_as_planned(now: Plan, planned: Plan, approved: bool) -> bool:
    """Whether nothing has changed since the plan was made.

    For an approved command, the files that it reads count as well. Others may read files that are being written.
    """
    if approved or planned.payload is None:
        return _is_same(now, planned)
    return planned.payload.is_same(now.payload) and _is_same(now, planned, without="detail")


def _is_same(one: Plan, other: Plan, without: str = "") -> bool:
    """Whether two plans have the same public fields."""
    names = [name for name, info in Plan.model_fields.items() if not info.exclude and name != without]
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _restart(params: BashParams) -> Plan:
    if params.restart:
        return _session_plan("Restart the shell")
    raise _invalid("command: required unless restart is true.", 'Call it with {"command": "ls"}.')


def _invalid(problem: str, next_step: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_PARAM, f"Invalid parameters for Bash: {problem}", next_step)


def _session_plan(summary: str) -> Plan:
    """The plan of a call that runs nothing in the shell. No rule is needed to allow it."""
    return Plan(summary=summary, access="read", harmless=((),), plain=True)


async def _command_plan(native: Native, params: BashParams, context: ToolContext, look: Look | None) -> Plan:
    """The plan of a shell command. A long one is analysed in a thread, so that the event loop is not blocked."""
    from toolgate.command.analysis import analyse, analyse_quickly
    from toolgate.shell.checks import check_command
    from toolgate.shell.surroundings import surroundings

    workspace, command = context.require_workspace(), native.command
    check_command(command, _MAX_COMMAND)
    await context.shell.choose_layer()
    shell = _shell_for(params, context)
    found_surroundings = surroundings(workspace, shell[0])

    def analyse_long() -> CommandPlan:
        with collection_postponed():
            return analyse(command, found_surroundings)

    quick = analyse_quickly(command, found_surroundings)
    analysed = quick if quick is not None else await asyncio.to_thread(analyse_long)
    look = await context.shell.look(look)
    reveals = await context.shell.secrets_in(command, analysed, look)
    report = context.shell.sandbox(params.access)

    def plan() -> Plan:
        return _plan_from_analysis(analysed, native, params, context, report, shell, reveals, look)

    if quick is not None and len(quick.scripts) + len(quick.inputs) <= _MAX_FILES:
        return plan()
    return await asyncio.to_thread(plan)


def _plan_from_analysis(
    analysed: CommandPlan,
    native: Native,
    params: BashParams,
    context: ToolContext,
    report: SandboxReport,
    shell: tuple[ShellState, str, dict[str, str | None]],
    reveals: tuple[str, ...],
    look: Look,
) -> Plan:
    from toolgate.command.analysis import request_detail, request_summary
    from toolgate.shell.approved_scripts import read_script
    from toolgate.tools.builtin.bash_prefixes import prefixes_of

    workspace, command = context.require_workspace(), native.command
    state, cwd, changes = shell
    elsewhere = _looked_up_elsewhere(changes, context)
    reasons = _reasons(analysed, params, context, report, reveals, elsewhere)
    once = _once(analysed, state)
    scripts = {path: read_script(workspace, path).digest for path in analysed.scripts}
    inputs = {path: read_script(workspace, path).digest for path in analysed.inputs}
    shown = partial(
        request_detail,
        command,
        cwd=cwd,
        access=params.access,
        reasons=reasons,
        values=_values(analysed, state, changes),
        environment=changes,
        scripts=scripts,
        definitions=analysed.definitions,
        once=once,
    )
    return Plan(
        summary=f"Run{_how(params, native)}: {request_summary(command)}",
        detail=shown(inputs=inputs),
        access=params.access,
        resources=(".",),
        commands=analysed.commands,
        harmless=analysed.harmless,
        plain=analysed.plain and not elsewhere,
        suspects=analysed.suspects,
        asks=bool(reasons),
        unconfined=bool(report.unconfined),
        reveals=reveals,
        reason="; ".join(reasons),
        prefixes=() if reasons or changes else prefixes_of(analysed),
        once=once,
        payload=Steps(scripts=scripts, detail=shown(), look=look),
    )


def _reasons(
    analysed: CommandPlan,
    params: BashParams,
    context: ToolContext,
    report: SandboxReport,
    reveals: tuple[str, ...],
    elsewhere: list[str],
) -> list[str]:
    """Why a person is asked."""
    reasons = list(analysed.dangers)
    if params.access == "full":
        reasons.append("full access: network, and more than the project")
        reasons += [f"it may write '{place}'" for place in report.roots]
    reasons += [f"it can read '{path}', which may hold secrets{context.guard.template_hint(path)}" for path in reveals]
    reasons += [f"the sandbox does not enforce: {missing}" for missing in report.unconfined]
    reasons += [f"PATH finds programs in {place!r}, which an earlier command put there" for place in elsewhere]
    return reasons


def _how(params: BashParams, native: Native) -> str:
    """How the command is run if the call does not wait for its end."""
    if params.tty:
        return " in a terminal"
    if params.background:
        return " in the background"
    return " (it goes on in the background)" if native.keep else ""


def _once(analysed: CommandPlan, state: ShellState) -> str:
    """Why the same command may do something else the next time, so that an approval is for this call only."""
    reasons = list(analysed.unresolved)
    if "CDPATH" in analysed.variables and b"CDPATH" in state.variables:
        reasons.append("'CDPATH' decides where 'cd' leads")
    more = f"; and {len(reasons) - _MAX_REASONS} more reasons" if len(reasons) > _MAX_REASONS else ""
    return "; ".join(reasons[:_MAX_REASONS]) + more


def _values(analysed: CommandPlan, state: ShellState, changes: dict[str, str | None]) -> dict[str, str | None]:
    """The values of the variables that the command uses and does not set itself."""
    own = {assigned.name for assigned in analysed.assignments}
    found: dict[str, str | None] = {}
    for name in analysed.variables:
        if name == "OLDPWD":
            found[name] = state.previous.decode(errors="backslashreplace")
        variable = state.variables.get(name.encode())
        if variable is not None and name not in changes:
            value = variable.literal if variable.value is None else variable.value
            found[name] = None if value is None else value.decode(errors="backslashreplace")
        elif variable is None and name not in own and name not in _UNSET and name.isidentifier():
            found.setdefault(name, None)
    return found


def _shell_for(params: BashParams, context: ToolContext) -> tuple[ShellState, str, dict[str, str | None]]:
    """The state that the command will find, its directory and what changed in its environment."""
    shell = context.shell
    own = directory_of(params, context)
    state = (shell.fresh_state if params.restart else shell.state)(params.access).entering(own)
    cwd = "." if params.restart else shell.cwd
    if own is not None:
        cwd = context.require_workspace().relative(params.cwd)
    return state, cwd, {} if params.restart else dict(shell.view(params.access).changes)


def _looked_up_elsewhere(changes: dict[str, str | None], context: ToolContext) -> list[str]:
    """Directories outside the project that a command has put into `PATH`: any name may then be another program.

    The analysis handles those inside the project, because it can look at their files.
    """
    path = changes.get("PATH")
    if path is None:
        return []
    root = str(context.require_workspace().root)
    before = context.shell.fresh_state().environment.get(b"PATH", b"").decode(errors="replace").split(":")
    return [
        place
        for place in dict.fromkeys(path.split(":"))
        if place.startswith("/") and place not in before and place != root and not place.startswith(f"{root}/")
    ]
