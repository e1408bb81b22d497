"""`jobs`: lists and controls the commands that run in the background."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from toolgate.agent_commands.arguments import AgentCommand, Arguments, UsageError, routed
from toolgate.agent_commands.outcome import RoutedCall, SessionCommand

if TYPE_CHECKING:
    from toolgate.shell.jobs import JobInfo, Jobs
    from toolgate.shell.result import CommandResult

_VERBS = ("output", "wait", "stop", "write", "keep")
_KEEP = re.compile(
    r"[ \t]+keep(?=[ \t]|$)(?:[ \t]+--after(?:=|[ \t]+)([0-9]{1,6}(?:\.[0-9]{1,3})?)(?=[ \t]|$))?"
    r"(?:[ \t]+--(?=[ \t]|$))?[ \t]*"
)
_MAX_WAIT = 600


def parse_keep(rest: str) -> tuple[str, float | None] | None:
    """The command after `jobs keep`, and the seconds after which it becomes a job; None if it is another command.

    As after `bash`, everything that follows is the command: pipes, lists and redirections are a part of it.
    """
    match = _KEEP.match(rest)
    if match is None or not rest[match.end() :].strip() or rest[match.end() :].startswith("-"):
        return None
    after = float(match[1]) if match[1] else None
    return None if after == 0 else (rest[match.end() :], after)


def _build(given: Arguments, cwd: str) -> SessionCommand | RoutedCall:
    if given.operands[:1] == ("write",):
        return _write(given, cwd)
    if given.content is not None or "--eof" in given.options:
        raise UsageError("only 'jobs write' takes text and --eof")
    if not given.operands:
        given.exactly("")
        return SessionCommand(command="jobs", arguments={"action": "list"})
    if given.operands[0] not in _VERBS:
        raise UsageError(f"'{given.operands[0]}' is none of {', '.join(_VERBS)}")
    if given.operands[0] == "keep":
        raise UsageError("keep needs a command of the shell, and --after a number of seconds above 0")
    action, job = given.exactly(f"{given.operands[0]} <id>")
    arguments: dict[str, Any] = {"action": action, "id": job}
    if "--timeout" in given.options:
        if action != "wait":
            raise UsageError("--timeout is for 'jobs wait' only")
        arguments["timeout"] = min(given.number("--timeout", 0), _MAX_WAIT)
    return SessionCommand(command="jobs", arguments=arguments)


def _write(given: Arguments, cwd: str) -> RoutedCall:
    """Text for a job, as a call of `Terminal`: what is typed is judged there."""
    if len(given.operands) < 2:
        raise UsageError("write needs the id of a job and a text")
    if given.content is not None and given.operands[2:]:
        raise UsageError("the text is given twice: as words and as a heredoc")
    text = given.content if given.content is not None else " ".join(given.operands[2:])
    ends = "--eof" in given.options
    if not text and not given.operands[2:] and not ends:
        raise UsageError("write needs a text, or --eof")
    if (text or given.operands[2:]) and not text.endswith("\n"):
        text += "\n"
    return routed("jobs", "Terminal", cwd, job=given.operands[1], text=text, **({"keys": ["C-d"]} if ends else {}))


JOBS = AgentCommand(
    name="jobs",
    synopsis="jobs [output <id> | wait <id> [--timeout SECONDS] | stop <id> | write <id> <text> [--eof] "
    "| keep [--after SECONDS] <command>]",
    build=_build,
    help_file=__file__,
    valued=frozenset({"--timeout", "--after"}),
    flags=frozenset({"--eof"}),
    takes_heredoc=True,
)


async def run_jobs(jobs: Jobs, arguments: dict[str, Any]) -> CommandResult:
    """Carry out a `jobs` command on a session's jobs; a job that is not known is a `ToolError`."""
    from toolgate.shell.result import CommandResult

    action = arguments["action"]
    if action == "list":
        lines = [_line(info) for info in jobs.list()]
        return CommandResult("".join(lines) or "There are no background jobs.\n", "", 0)
    job = arguments["id"]
    if action == "output":
        stdout, stderr = jobs.output(job)
        info = jobs.get(job)
        runs = f"toolgate: {job} is still running; this is its output so far\n" if info.running else ""
        return CommandResult(stdout, stderr + runs, 0)
    if action == "wait":
        info = await jobs.wait(job, arguments.get("timeout", _MAX_WAIT))
        late = f"{job} still runs; wait again with: jobs wait {job}\n" if info.running else ""
        stdout, stderr = jobs.output(job)
        return CommandResult(stdout, stderr + late, 0 if info.running else info.exit_code)
    return CommandResult(_line(await jobs.stop(job)), "", 0)


def _line(info: JobInfo) -> str:
    size = info.stdout_bytes + info.stderr_bytes
    return f"{info.id}  {info.state}  {info.seconds:.0f} s  {size} bytes of output  {info.command}\n"
