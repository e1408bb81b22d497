"""Calls and their results, definitions of tools, and denials by the mode."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent
from toolgate.protocol.envelope import Status, ToolResponse

_FROZEN = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ToolCall(BaseModel):
    """A call as the model wrote it."""

    model_config = _FROZEN

    id: str
    """The provider's id; echoed exactly, never interpreted."""
    name: str
    arguments: str
    """The JSON string that the model wrote, unparsed."""


class ToolDefinition(BaseModel):
    """What a model is told about a tool."""

    model_config = _FROZEN

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""


class ToolDenied(BaseModel):
    """A call that the session's mode does not allow."""

    model_config = _FROZEN

    tool_name: str = Field(min_length=1)
    call_id: str = Field(min_length=1)
    mode: str = Field(min_length=1)
    error_code: str = Field(min_length=1)
    message: str = Field(min_length=1)
    next_action: str = Field(min_length=1)
    """What the person can do about it with the modes that are enabled."""


class ToolResult(BaseModel):
    """An envelope with the id of the call that it answers."""

    model_config = _FROZEN

    tool_call_id: str
    is_error: bool
    output: str
    """Exactly what the model reads."""
    message: str
    """The error message, else the envelope's text."""
    extras: dict[str, Any] = Field(default_factory=dict)
    """`failureCategory`, `toolName` and `parseError`, where they apply."""
    response: ToolResponse

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.is_error != (self.response.status is Status.error):
            raise ValueError("is_error must be true exactly when the response's status is 'error'")
        return self

    @property
    def error_code(self) -> ErrorCode | None:
        """The code of the error; None if the call did not fail."""
        return None if self.response.error is None else self.response.error.code

    @property
    def content(self) -> tuple[ImageContent, ...]:
        """The pictures that belong to the output, for models that look at them."""
        return self.response.content

    def to_dict(self) -> dict[str, Any]:
        """The wire form, in camelCase."""
        return {
            "toolCallId": self.tool_call_id,
            "isError": self.is_error,
            "output": self.output,
            "message": self.message,
            "extras": self.extras,
        }
