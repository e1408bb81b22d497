"""What goes wrong with a foreign server, in words that say nothing of its own, and as answers to a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate.errors import ToolgateError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse

if TYPE_CHECKING:
    from mcp import MCPError

    from toolgate.adapters.mcp_client.results import Source


_LONGEST_WORDS = 500


class Unavailable(ToolgateError):
    """The server cannot answer now; the text says why."""


def reason_of(error: BaseException, patience: float) -> tuple[str, str]:
    """Why a connection failed, in words of our own that a model may read; and what was said, for the operator alone."""
    from mcp import MCPError
    from pydantic import ValidationError

    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {patience:g} s", ""
    if isinstance(error, Unavailable | FileNotFoundError | NotADirectoryError):
        return str(error), ""
    if isinstance(error, MCPError):
        return "it refused to connect", error.message[:_LONGEST_WORDS]
    if isinstance(error, ValidationError):
        return "it answered with something that the protocol does not know", ""
    return f"the connection failed ({type(error).__name__})", str(error)[:_LONGEST_WORDS]


def failed_call(error: BaseException, source: Source) -> ToolResponse:
    """The answer to a call that the server did not answer properly."""
    from mcp import MCPError

    if isinstance(error, MCPError):
        return _refused(error, source)
    if isinstance(error, Unavailable):
        return _failure(
            ErrorCode.INTERNAL_ERROR,
            source,
            f"cannot be called: {error}",
            "It is tried again by itself; go on without it.",
        )
    return _failure(
        ErrorCode.INTERNAL_ERROR,
        source,
        "answered with something that is no result",
        "Use another tool, or tell the user.",
    )


def _refused(error: MCPError, source: Source) -> ToolResponse:
    from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, PARSE_ERROR

    from toolgate.adapters.mcp_client.stdio import TOO_LARGE

    if error.code == CONNECTION_CLOSED:
        return _failure(
            ErrorCode.INTERNAL_ERROR,
            source,
            "ended before it answered",
            "Whether the call took effect is not known: look before you repeat it.",
        )
    if error.code == TOO_LARGE or (error.code == PARSE_ERROR and "bytes" in error.message):
        return _failure(
            ErrorCode.EXECUTION_ERROR,
            source,
            "sent an answer that is too large to take in",
            "Ask for less in one call.",
        )
    code = ErrorCode.INVALID_PARAM if error.code == INVALID_PARAMS else ErrorCode.EXECUTION_ERROR
    said = {"content": [{"type": "text", "text": error.message[:10_000]}]}
    return _failure(
        code, source, "refused the call", "What it says is below; mend the call, or go on without it.", said
    )


def _failure(
    code: ErrorCode, source: Source, what: str, next_step: str, data: dict[str, Any] | None = None
) -> ToolResponse:
    return ToolResponse.failure(
        code, f"{source} {what}.", data=data or {}, next_step=next_step, context=source.context if data else {}
    )
