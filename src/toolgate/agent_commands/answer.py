"""The answer of an agent command in the shape that Bash's answers have."""

import re
from collections.abc import Callable
from typing import Any

from toolgate.agent_commands.outcome import RoutedCall, Usage
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import Status, ToolResponse
from toolgate.workspace.oserrors import quote

_STAYS_AN_ERROR = frozenset(
    {
        ErrorCode.MODE_DENIED,
        ErrorCode.APPROVAL_DENIED,
        ErrorCode.TOOL_NOT_FOUND,
        ErrorCode.CIRCUIT_OPEN,
        ErrorCode.CANCELLED,
        ErrorCode.INTERNAL_ERROR,
        ErrorCode.TIMEOUT,
    }
)
"""Error codes that stay errors: the command was refused or did not end. With all others it ran and failed."""
_SHOWN_AS_RENDERED = frozenset({"todo", "memory", "task", "jobs"})
"""Commands whose answer is what the tool renders; the others show the content or the text."""

_START_LINE = re.compile(r"start_line=(\d+)")


def _as_offset(start_line: re.Match[str]) -> str:
    """The next step of `read_file` in the words of `read`, which counts from 0."""
    return f"--offset {int(start_line[1]) - 1}"


def as_typed(response: ToolResponse, routed: RoutedCall, arguments: dict[str, Any]) -> ToolResponse:
    """The response with the path in its error as it was typed, not relative to the root."""
    typed, path = routed.arguments.get("path"), arguments.get("path")
    if response.error is None or not typed or not path or typed == path:
        return response
    before, after = quote(path), quote(typed)
    error = response.error.model_copy(update={"message": response.error.message.replace(before, after)})
    return response.model_copy(update={"error": error, "text": response.text.replace(before, after)})


def to_bash_response(
    response: ToolResponse, command: str, render: Callable[[ToolResponse], str] | None = None
) -> ToolResponse:
    """Bash's shape of the answer to the agent command `command`: `stdout`, `stderr`, `exit_code`, `routed`.

    A command that failed is `partial` with exit code 1; a denial stays an error and keeps its code. `render` is the
    tool's own.
    """
    if command == "read":
        response = response.model_copy(update={"text": _START_LINE.sub(_as_offset, response.text)})
    error = response.error
    data: dict[str, Any] = {
        "stdout": "" if error is not None else _stdout(response, command, render),
        "stderr": _stderr(response),
        "exit_code": 0 if error is None else 1,
        "truncated": response.data.get("truncated") is True,
        "sandbox": None,
        "routed": response.data,
    }
    stats, context = response.stats, response.context
    if error is not None and error.code in _STAYS_AN_ERROR:
        return ToolResponse.failure(
            error.code, error.message, data=data, text=response.text, stats=stats, context=context
        )
    build = ToolResponse.success if response.status is Status.success else ToolResponse.partial
    return build(data, response.text, stats=stats, context=context, content=response.content)


def usage_response(usage: Usage) -> ToolResponse:
    """The response to a request for help, or to wrong usage."""
    data = {"stdout": "", "stderr": "", "exit_code": usage.exit_code, "truncated": False, "sandbox": None}
    if usage.exit_code == 0:
        return ToolResponse.success({**data, "stdout": usage.text}, f"Help of '{usage.command}'.")
    text = f"'{usage.command}' was not run: its words do not fit. Write it as its usage says."
    return ToolResponse.partial({**data, "stderr": usage.text}, text)


def _stdout(response: ToolResponse, command: str, render: Callable[[ToolResponse], str] | None) -> str:
    content = response.data.get("content")
    if isinstance(content, str):
        return content
    if command in _SHOWN_AS_RENDERED and render is not None:
        return _line(render(response))
    return _line(response.text)


def _stderr(response: ToolResponse) -> str:
    """The error and its way out; for a result that is not whole, what is missing."""
    if response.error is not None:
        return _line(response.text if response.error.message in response.text else response.error.message)
    has_content = isinstance(response.data.get("content"), str)
    return _line(response.text) if response.status is Status.partial and has_content else ""


def _line(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
