"""Routing: tells agent commands from commands of the shell, and runs either."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from toolgate.agent_commands import COMMANDS, Native, Outcome, RoutedCall, SessionCommand, Usage, parse_keep, run_jobs
from toolgate.agent_commands.answer import as_typed, to_bash_response
from toolgate.agent_commands.arguments import AgentCommand, UsageError, sort_words
from toolgate.agent_commands.bash import SYNOPSIS, help_text
from toolgate.command.line import Line, first_word, read_line
from toolgate.errors import ToolError
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.ids import uuid7

if TYPE_CHECKING:
    from toolgate.shell.result import CommandResult

_FIRST = re.compile(r"\s*([a-z_]+)(?=[\s;&|<>()]|$)")
_NO_WORD = re.compile(r"(?:[ \t]|\\\n)*(?:$|[\n;&|<>()#])")
_CD_AND_PATCH = re.compile(r"\s*(cd[ \t]+[^\n;&|<>()]+?)[ \t]*&&[ \t]*(apply_patch[ \t]*<<.*)", re.DOTALL)
_READ_OPTION = re.compile(r"-[ers]*p[^-]*")
_MAX_UNWRAPPED = 16
"""How many `bash` and `jobs keep` may be nested."""
_HELP = frozenset({"-h", "--help"})
Exists = Callable[[str], bool]


def _nothing_exists(_: str) -> bool:
    return False


def parse(command_line: str, cwd: str = ".", exists: Exists = _nothing_exists, depth: int = 0) -> Outcome:
    """Find out what kind of command `command_line` is. `cwd` is the shell's directory, relative to the root.

    Pure: `exists` is asked whether a file is there, with a path relative to the root or an absolute one.
    """
    for unwrapped in range(depth, _MAX_UNWRAPPED):
        first = _FIRST.match(command_line)
        word = first.group(1) if first else ""
        if first is not None and word == "bash":
            inner = _unwrapped(command_line[first.end() :], cwd, exists)
            if inner is None:
                return Native(command=command_line)
            if isinstance(inner, Usage):
                return inner
            command_line = inner
        elif first is not None and word == "jobs" and (keeping := parse_keep(command_line[first.end() :])) is not None:
            return _kept(*keeping, cwd, exists, unwrapped + 1)
        elif word in COMMANDS:
            return _agent_command(COMMANDS[word], command_line, cwd)
        elif word == "cd" and (elsewhere := _patch_elsewhere(command_line, cwd)) is not None:
            return elsewhere
        else:
            return Native(command=command_line)
    return Native(command=command_line)


def _kept(command: str, after: float | None, cwd: str, exists: Exists, depth: int) -> Outcome:
    inner = parse(command, cwd, exists, depth)
    if isinstance(inner, Native):
        return replace(inner, keep=True, after=after)
    return _mistake(COMMANDS["jobs"], "keep needs a command of the shell, not one of this runtime")


def _unwrapped(rest: str, cwd: str, exists: Exists) -> str | Usage | None:
    """The command after `bash`, or None if that is the real bash."""
    if not rest.strip():
        return Usage(command="bash", exit_code=2, text=f"Usage: {SYNOPSIS}\n")
    if rest.rstrip().lstrip(" \t") in _HELP:
        return Usage(command="bash", exit_code=0, text=help_text())
    word = None if _NO_WORD.match(rest) else first_word(rest)
    if word is None or not word.known or word.text.startswith(("-", "+")):
        return None
    path = word.text if word.text.startswith("/") else posixpath.normpath(posixpath.join(cwd, word.text))
    return None if word.text and exists(path) else rest.lstrip(" \t")


def _agent_command(command: AgentCommand, command_line: str, cwd: str) -> Outcome:
    line = read_line(command_line.lstrip())
    if command.name == "read" and _is_builtin_read(line):
        return Native(command=command_line)
    if line.operator or (line.content is not None and not command.takes_heredoc):
        return Native(command=command_line, hint=_hint(command, line))
    if line.problem:
        return _mistake(command, line.problem)
    if _asks_for_help(line):
        return Usage(command=command.name, exit_code=0, text=command.help)
    try:
        return command.build(sort_words(line, command.valued, command.flags), cwd)
    except UsageError as error:
        return _mistake(command, str(error))


def _is_builtin_read(line: Line) -> bool:
    """Whether this is the shell's own `read -p`, which asks a person."""
    options = [word.text for word in line.words[1:] if not word.quoted]
    return bool(options) and _READ_OPTION.fullmatch(options[0]) is not None and options[0] not in _HELP


def _patch_elsewhere(command_line: str, cwd: str) -> Outcome | None:
    """`cd DIRECTORY && apply_patch <<…`, which models write: the patch is applied there, and the shell stays."""
    match = _CD_AND_PATCH.match(command_line)
    line = read_line(match[1]) if match is not None else None
    if match is None or line is None or len(line.words) != 2 or not line.words[1].known or line.problem:
        return None
    directory = line.words[1].text
    if directory.startswith("-") or not directory:
        return None
    return _agent_command(COMMANDS["apply_patch"], match[2], posixpath.normpath(posixpath.join(cwd, directory)))


def _asks_for_help(line: Line) -> bool:
    for word in line.words[1:]:
        if word.text == "--" and not word.quoted:
            return False
        if word.text in _HELP and not word.quoted:
            return True
    return False


def _mistake(command: AgentCommand, problem: str) -> Usage:
    text = f"{command.name}: {problem}.\nUsage: {command.synopsis}\n"
    return Usage(command=command.name, exit_code=2, text=text)


def _hint(command: AgentCommand, line: Line) -> str:
    """A hint how to write the agent command that was probably meant; empty if there is none."""
    if command.name == "read":
        if not line.operator.startswith("|") or len(line.words) < 2 or line.words[1].text.startswith("-"):
            return ""
        path = line.words[1].raw
        return f"toolgate: in a pipe 'read' is the shell's own; for part of a file use: read {path} --limit N\n"
    if command.name == "jobs" or not line.operator:
        return ""
    return f"toolgate: '{command.name}' is an agent command only where it stands alone; run it on its own\n"


class CommandSession(Protocol):
    """Anything that runs commands. MAY have `cwd` (relative to the root), `exists(path)` and `jobs`.

    `jobs keep` needs an `execute` that takes `timeout` and `to_background`.
    """

    async def execute(self, command: str) -> CommandResult:
        """Run one."""
        ...


class BashWrapperHandler:
    """Runs command lines in a session; `bash <command>` is `<command>`."""

    def __init__(self, session: CommandSession) -> None:
        self._session = session

    async def execute(self, command_line: str) -> CommandResult:
        """Unwrap and run; agent commands are left to the shell."""
        first = _FIRST.match(command_line)
        while first is not None and first.group(1) == "bash":
            inner = _unwrapped(command_line[first.end() :], _cwd(self._session), _exists(self._session))
            if isinstance(inner, Usage):
                return _usage(inner)
            if inner is None:
                break
            command_line = inner
            first = _FIRST.match(command_line)
        return await self._session.execute(command_line)


Dispatch = Callable[[ToolCall], Awaitable[ToolResult]]


class CommandRouter:
    """Runs command lines: agent commands as calls of their tools, everything else in the session."""

    def __init__(self, session: CommandSession, dispatch: Dispatch) -> None:
        self._session = session
        self._dispatch = dispatch

    async def execute(self, command_line: str) -> CommandResult:
        """Route and run one command line."""
        outcome = parse(command_line, _cwd(self._session), _exists(self._session))
        if isinstance(outcome, Usage):
            return _usage(outcome)
        if isinstance(outcome, RoutedCall):
            return await self._call(outcome)
        if isinstance(outcome, SessionCommand):
            return await self._session_command(outcome, command_line)
        result = await self._run(outcome)
        return replace(result, stderr=result.stderr + outcome.hint) if outcome.hint else result

    async def _run(self, native: Native) -> CommandResult:
        execute: Any = self._session.execute
        options = {"timeout": native.after, "to_background": True}
        result: CommandResult = await execute(native.command, **(options if native.keep else {}))
        return result

    async def _call(self, routed: RoutedCall) -> CommandResult:
        arguments = from_root(routed)
        call = ToolCall(id=uuid7(), name=routed.tool_name, arguments=json.dumps(arguments))
        result = await self._dispatch(call)
        response = as_typed(result.response, routed, arguments)
        return _shell_result(to_bash_response(response, routed.command, lambda _: result.output))

    async def _session_command(self, command: SessionCommand, command_line: str) -> CommandResult:
        jobs = getattr(self._session, "jobs", None)
        if command.command == "jobs" and jobs is not None:
            try:
                return await run_jobs(jobs, command.arguments)
            except ToolError as error:
                return _make("", f"{error.message} {error.next_step}".strip() + "\n", 1)
        arguments = json.dumps({"command": command_line})
        result = await self._dispatch(ToolCall(id=uuid7(), name="Bash", arguments=arguments))
        response = result.response
        return _shell_result(response if "exit_code" in response.data else to_bash_response(response, ""))


def from_root(routed: RoutedCall) -> dict[str, Any]:
    """The arguments with a path relative to the root, because the dispatcher does not know the shell's directory."""
    path = routed.arguments.get("path")
    if path is None or routed.cwd == "." or path.startswith("/") or not path:
        return routed.arguments
    return {**routed.arguments, "path": posixpath.join(routed.cwd, path)}


def _shell_result(response: ToolResponse) -> CommandResult:
    data = response.data
    return _make(str(data.get("stdout", "")), str(data.get("stderr", "")), data["exit_code"])


def _usage(usage: Usage) -> CommandResult:
    return _make(usage.text, "", 0) if usage.exit_code == 0 else _make("", usage.text, usage.exit_code)


def _make(stdout: str, stderr: str, exit_code: int | None) -> CommandResult:
    from toolgate.shell.result import CommandResult

    return CommandResult(stdout, stderr, exit_code)


def _cwd(session: CommandSession) -> str:
    cwd = getattr(session, "cwd", ".")
    return cwd if isinstance(cwd, str) else "."


def _exists(session: CommandSession) -> Exists:
    exists = getattr(session, "exists", None)
    return exists if callable(exists) else _nothing_exists
