"""The error tree.

Denials, pauses and cancellations are values (see `protocol.envelope`), not exceptions. What is raised:

    ToolgateError
    ├── ToolError            a tool's own, expected failure: becomes an error envelope
    ├── PolicyError          a policy that cannot be loaded: start-up stops
    └── UndoRefused          taking a change back would destroy someone else's
"""

from typing import Any

from toolgate.protocol.codes import ErrorCode


class ToolgateError(Exception):
    """Base of everything that Toolgate raises on purpose."""


class ToolError(ToolgateError):
    """An expected failure inside a tool; the pipeline turns it into an error envelope."""

    def __init__(
        self, code: ErrorCode, message: str, next_step: str = "", *, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = ErrorCode(code)
        self.message = message
        self.next_step = next_step
        self.data = data or {}


class PolicyError(ToolgateError):
    """A policy file is unreadable, invalid or contradicts its own examples."""


class UndoRefused(ToolgateError):
    """A file changed after the call that should be taken back."""
