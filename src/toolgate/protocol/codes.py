"""The closed set of error codes and the failure categories that go with them."""

from enum import StrEnum


class ErrorCode(StrEnum):
    """Machine-readable reason of a failed call."""

    NOT_FOUND = "NOT_FOUND"
    """The file or path does not exist."""
    ACCESS_DENIED = "ACCESS_DENIED"
    """The path is outside the project root, or protected."""
    PERMISSION_DENIED = "PERMISSION_DENIED"
    """The operating system refused."""
    INVALID_PARAM = "INVALID_PARAM"
    """The arguments do not fit; the message says how to repair them."""
    TIMEOUT = "TIMEOUT"
    """The deadline passed before there was anything to show."""
    INTERNAL_ERROR = "INTERNAL_ERROR"
    """The tool itself is broken; not the caller's fault."""
    EXECUTION_ERROR = "EXECUTION_ERROR"
    """Any other input/output or execution error, such as a full disk."""
    CONFLICT = "CONFLICT"
    """What the call was based on has changed since it was read."""
    IS_DIRECTORY = "IS_DIRECTORY"
    """A file was needed and the path is a directory."""
    BINARY_FILE = "BINARY_FILE"
    """Text was needed and the file is binary."""
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    """No such tool for this caller."""
    MODE_DENIED = "MODE_DENIED"
    """The tool exists, and the session's mode does not allow it."""
    APPROVAL_DENIED = "APPROVAL_DENIED"
    """A person or a policy denied the call, or there is no approver."""
    CANCELLED = "CANCELLED"
    """The caller cancelled the call."""
    CIRCUIT_OPEN = "CIRCUIT_OPEN"
    """The tool failed repeatedly and is paused."""

    __hash__ = str.__hash__  # looked up on every failure; the enum's own hash is a call into Python


FAILURE_CATEGORY: dict[ErrorCode, str] = {
    ErrorCode.TOOL_NOT_FOUND: "command_not_found",
    ErrorCode.INVALID_PARAM: "invalid_usage",
    ErrorCode.MODE_DENIED: "denied",
    ErrorCode.APPROVAL_DENIED: "denied",
    ErrorCode.ACCESS_DENIED: "denied",
    ErrorCode.PERMISSION_DENIED: "denied",
    ErrorCode.TIMEOUT: "timeout",
    ErrorCode.CANCELLED: "cancelled",
}
"""`extras.failureCategory` of an error; every other code is `execution_error`."""
