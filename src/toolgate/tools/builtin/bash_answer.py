"""What a command's end means, as an envelope and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import Status, ToolResponse

if TYPE_CHECKING:
    from toolgate.shell import CommandResult

_CATEGORIES = {127: "command_not_found", 126: "execution_error", 2: "invalid_usage"}


def answered(result: CommandResult, timeout_ms: int, hint: str = "") -> ToolResponse:
    """The envelope: a command that ran is an answer, whatever its exit code."""
    data: dict[str, Any] = {
        "stdout": result.stdout,
        "stderr": result.stderr + hint,
        "exit_code": result.exit_code,
        "truncated": result.truncated,
        "sandbox": result.sandbox.to_dict() if result.sandbox is not None else None,
    }
    stats: dict[str, int | float | str] = {
        "stdout_bytes": result.stdout_info.bytes or len(result.stdout.encode(errors="replace")),
        "stderr_bytes": result.stderr_info.bytes or len(result.stderr.encode(errors="replace")),
    }
    context = {"cwd": result.cwd}
    if result.job_id is not None:
        data["job_id"] = result.job_id
        text = f"Started in the background as {result.job_id}. Look at it with: jobs output {result.job_id}"
        return ToolResponse.success(data, text, stats=stats, context=context)
    if result.timed_out:
        return _timed_out(result, data, timeout_ms, stats, context)
    text = f"Exit code {result.exit_code}."
    if result.hint:
        text = f"{text} {result.hint}"
    if result.truncated:
        text = f"{text} The output was too long and its middle was left out; write it to a file to read all of it."
    if result.exit_code == 0 and not result.truncated:
        return ToolResponse.success(data, text, stats=stats, context=context)
    if result.exit_code != 0 and not result.hint:
        text = f"{text} Read stderr, change the command and try again."
    return ToolResponse.partial(data, text, stats=stats, context=context)


def _timed_out(
    result: CommandResult, data: dict[str, Any], timeout_ms: int, stats: dict[str, Any], context: dict[str, Any]
) -> ToolResponse:
    data["timed_out"] = True
    message = f"The command did not end within {timeout_ms / 1000:g} s; it was ended with everything that it started."
    step = "Use a longer timeout_ms, or background=true."
    if result.stdout or result.stderr:
        text = f"{message} What it had printed is kept. {step}"
        return ToolResponse.partial(data, text, stats=stats, context=context)
    return ToolResponse.failure(ErrorCode.TIMEOUT, message, data=data, next_step=step, stats=stats, context=context)


def category_of(response: ToolResponse) -> str | None:
    """`failureCategory` of a command that did not end well."""
    if response.data.get("timed_out"):
        return "timeout"
    return _CATEGORIES.get(response.data.get("exit_code", 0))


def render(response: ToolResponse) -> str:
    """stdout, then stderr, then how it ended; plain text."""
    data = response.data
    if "stdout" not in data:
        return response.text
    parts = [data["stdout"]]
    if data["stderr"]:
        parts.append(data["stderr"] if not data["stdout"] else f"[stderr]\n{data['stderr']}")
    shown = "".join(part if part.endswith("\n") or not part else part + "\n" for part in parts)
    said = response.text in data["stderr"] or (response.status is Status.success and "job_id" not in data)
    return shown if said and shown else f"{shown}[{response.text}]"
