"""Turns a raised exception into an error envelope; the only module that does so."""

import errno
import os

from toolgate.errors import PolicyError, ToolError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse

_NO_THREAD = "can't start new thread"


def failure_of(error: BaseException, tool_name: str, path: object = None) -> ToolResponse:
    """The envelope of an exception that left a tool. `path` is the argument that an `OSError` is about."""
    if isinstance(error, TimeoutError):
        return ToolResponse.failure(
            ErrorCode.TIMEOUT, f"Tool '{tool_name}' timed out.", next_step="Try a smaller step, or a longer timeout."
        )
    if isinstance(error, PolicyError):
        error, path = _why_no_policy(error), "the policy file"
    error = _as_os_error(error)
    if isinstance(error, OSError):
        from toolgate.workspace.oserrors import from_os_error

        error = from_os_error(error, path if isinstance(path, str) else tool_name)
    if isinstance(error, ToolError):
        data = error.data if isinstance(error.data, dict) else {}
        message = str(error.message) or f"Tool '{tool_name}' failed."
        return ToolResponse.failure(error.code, message, data=data, next_step=str(error.next_step))
    if isinstance(error, MemoryError):  # nothing is logged: that would need memory
        return ToolResponse.failure(
            ErrorCode.INTERNAL_ERROR,
            f"Tool '{tool_name}' failed: there is not enough memory.",
            next_step="Ask for less at a time, or tell the user that this machine is short of memory.",
        )
    logger("pipeline").error(
        "tool_failed", tool_name=tool_name, error=type(error).__name__, where=_where(error), exc_info=error
    )
    return internal(tool_name, f"failed unexpectedly ({type(error).__name__})")


def _as_os_error(error: BaseException) -> BaseException:
    """Return the `OSError` that Python hides where the operating system refuses a thread."""
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return error


def _why_no_policy(error: PolicyError) -> BaseException:
    """What kept a policy from being read; a policy that was read and is not valid has no cause."""
    logger("pipeline").error("policy_unusable", reason=str(error))
    return error.__cause__ or ToolError(
        ErrorCode.EXECUTION_ERROR,
        "The policy is not valid, so nothing is allowed.",
        "Tell the user to check it with 'toolgate doctor'.",
    )


def internal(tool_name: str, what: str) -> ToolResponse:
    """The tool is broken; the words say nothing about the host."""
    return ToolResponse.failure(
        ErrorCode.INTERNAL_ERROR,
        f"Tool '{tool_name}' {what}.",
        next_step="This is a fault of the tool, not of the call: use another tool, or tell the user.",
    )


def _where(error: BaseException) -> str:
    """Function and line of the last frame: enough to find a fault, and nothing of its values."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return f"{frame.tb_frame.f_code.co_name}:{frame.tb_lineno}" if frame is not None else ""
