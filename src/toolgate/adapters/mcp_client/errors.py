"""Describes failures of foreign servers in Toolgate's own words, and turns them into responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolgateError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse

if TYPE_CHECKING:
    from mcp import MCPError

    from toolgate.adapters.mcp_client.results import ResultSource


_MAX_SERVER_MESSAGE = 500


class ServerUnavailable(ToolgateError):
    """The server cannot answer now; the text says why."""


def describe_failure(error: BaseException, timeout: float) -> tuple[str, str]:
    """Explain a failed connection: a text that the model may read, and the server's own text for the operator."""
    from mcp import MCPError
    from pydantic import ValidationError

    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {timeout:g} s", ""
    if isinstance(error, ServerUnavailable | FileNotFoundError | NotADirectoryError):
        return str(error), ""
    if isinstance(error, MCPError):
        return "it refused to connect", error.message[:_MAX_SERVER_MESSAGE]
    if isinstance(error, ValidationError):
        return "it sent a message that is not valid in the protocol", ""
    return f"the connection failed ({type(error).__name__})", str(error)[:_MAX_SERVER_MESSAGE]


def failure_response(error: BaseException, source: ResultSource) -> ToolResponse:
    """Return the response to a call that the server did not answer properly."""
    from mcp import MCPError

    if isinstance(error, MCPError):
        return _refused(error, source)
    if isinstance(error, ServerUnavailable):
        return _failure(
            ErrorCode.INTERNAL_ERROR,
            source,
            f"cannot be called: {error}",
            "Toolgate reconnects by itself; continue without it.",
        )
    return _failure(
        ErrorCode.INTERNAL_ERROR,
        source,
        "sent something that is not a valid result",
        "Use another tool, or tell the user.",
    )


def _refused(error: MCPError, source: ResultSource) -> ToolResponse:
    from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, PARSE_ERROR

    from toolgate.adapters.mcp_client.stdio import TOO_LARGE

    if error.code == CONNECTION_CLOSED:
        return _failure(
            ErrorCode.INTERNAL_ERROR,
            source,
            "ended before it answered",
            "It is unknown whether the call took effect: check before you repeat it.",
        )
    if error.code == TOO_LARGE or (error.code == PARSE_ERROR and "bytes" in error.message):
        return _failure(
            ErrorCode.EXECUTION_ERROR,
            source,
            "sent a response that is too large",
            "Ask for less in one call.",
        )
    code = ErrorCode.INVALID_PARAM if error.code == INVALID_PARAMS else ErrorCode.EXECUTION_ERROR
    data = {"content": [{"type": "text", "text": error.message[:10_000]}]}
    return _failure(
        code, source, "refused the call", "Its message is below; correct the call, or continue without it.", data
    )


def _failure(
    code: ErrorCode, source: ResultSource, problem: str, next_step: str, data: dict[str, Any] | None = None
) -> ToolResponse:
    return ToolResponse.failure(
        code, f"{source} {problem}.", data=data or {}, next_step=next_step, context=source.context if data else {}
    )
