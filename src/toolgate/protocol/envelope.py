"""The one envelope that every tool answers in."""

from enum import StrEnum
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, model_serializer, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import to_json

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent
from toolgate.protocol.jsontext import dump
from toolgate.protocol.unvalidated import trusted


class Status(StrEnum):
    """How a call ended."""

    success = "success"
    """Everything that was asked for happened, and the result is whole."""
    partial = "partial"
    """There is a usable result with a discount: cut, fallback, dry run, some items failed."""
    error = "error"
    """There is no usable result."""

    __hash__ = str.__hash__  # looked up on every call; the enum's own hash is a call into Python


class ErrorInfo(BaseModel):
    """Why a call failed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    code: ErrorCode
    message: str = Field(min_length=1)


R = TypeVar("R", bound="ToolResponse")


class ToolResponse(BaseModel):
    """The envelope. It cannot be constructed in a state that contradicts itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    status: Status
    data: dict[str, Any]
    """The tool's payload; always an object."""
    text: str
    """For the model: what happened, in which state it left things, what to do next."""
    error: ErrorInfo | None = None
    """Present exactly when `status` is `error`."""
    stats: dict[str, int | float | str] = Field(default_factory=dict)
    """Numbers about the run; `time_ms` is filled in by the pipeline."""
    context: dict[str, Any] = Field(default_factory=dict)
    """`cwd`, `params_input`, `path_resolved` and what else a tool wants to say about its surroundings."""
    content: SkipJsonSchema[tuple[InstanceOf[ImageContent], ...]] = Field(default=(), exclude=True, repr=False)
    """Pictures, for models that look at them. No document has this key: it is never written and never parsed."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.error is not None) != (self.status is Status.error):
            raise ValueError("'error' must be present exactly when status is 'error'")
        if self.status is Status.success and _is_discounted(self.data):
            raise ValueError("status 'success' forbids truncated=true, applied=false and fallback: use 'partial'")
        if isinstance(self.stats.get("time_ms"), str):
            raise ValueError("'stats.time_ms' must be a number")
        if wrong := [key for key in ("cwd", "path_resolved") if not isinstance(self.context.get(key, ""), str)]:
            raise ValueError(f"'context.{wrong[0]}' must be a path as text")
        return self

    @model_serializer(mode="wrap")
    def _omit_absent_error(self, handler: Any) -> dict[str, Any]:
        document: dict[str, Any] = handler(self)
        if document.get("error") is None:
            document.pop("error", None)
        return document

    @classmethod
    def success(
        cls,
        data: dict[str, Any],
        text: str,
        *,
        stats: dict[str, int | float | str] | None = None,
        context: dict[str, Any] | None = None,
        content: tuple[ImageContent, ...] = (),
    ) -> Self:
        """The whole result, as asked for."""
        if type(data) is dict and type(text) is str and not (stats or context or content) and _is_whole(data):
            return _simple(cls, Status.success, data, text, None)
        fields: dict[str, Any] = {"stats": stats or {}, "context": context or {}, "content": content}
        return cls(status=Status.success, data=data, text=text, **fields)

    @classmethod
    def partial(
        cls,
        data: dict[str, Any],
        text: str,
        *,
        stats: dict[str, int | float | str] | None = None,
        context: dict[str, Any] | None = None,
        content: tuple[ImageContent, ...] = (),
    ) -> Self:
        """A usable result with a discount; `text` says which, and how to get the rest."""
        fields: dict[str, Any] = {"stats": stats or {}, "context": context or {}, "content": content}
        return cls(status=Status.partial, data=data, text=text, **fields)

    @classmethod
    def failure(
        cls,
        code: ErrorCode,
        message: str,
        *,
        data: dict[str, Any] | None = None,
        text: str | None = None,
        next_step: str = "",
        stats: dict[str, int | float | str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Self:
        """No usable result; `text` defaults to the message and the next step."""
        if text is None:
            text = f"{message} {next_step}".strip()
        if type(code) is ErrorCode and type(message) is str and message and not data and not stats and not context:
            error = trusted(ErrorInfo, {"code": code, "message": message})
            return _simple(cls, Status.error, {}, text, error)
        return cls(
            status=Status.error,
            data=data or {},
            text=text,
            error=ErrorInfo(code=code, message=message),
            stats=stats or {},
            context=context or {},
        )

    def to_dict(self) -> dict[str, Any]:
        """The envelope as plain JSON values; the key `error` exists exactly for errors."""
        fields = self.__dict__
        document = {
            "status": fields["status"]._value_,
            "data": fields["data"],
            "text": fields["text"],
            "stats": fields["stats"],
            "context": fields["context"],
        }
        if fields["error"] is not None:
            error = fields["error"].__dict__
            document["error"] = {"code": error["code"]._value_, "message": error["message"]}
        return document

    def to_json(self) -> str:
        """The envelope as strict, compact JSON."""
        document = self.to_dict()
        if "error" in document:
            return dump(document)
        text = to_json(document).decode()
        return dump(document) if "N" in text or "I" in text else text  # the first letters of what `dump` looks for


_KINDS = {"status": Status, "data": dict, "text": str, "stats": dict, "context": dict, "content": tuple}


def is_sound(response: ToolResponse) -> bool:
    """Whether an envelope holds what it promises, also one that was constructed without validation."""
    fields = response.__dict__
    for name, kind in _KINDS.items():
        if type(fields.get(name)) is not kind:
            return False
    error = fields.get("error")
    if fields["status"] is Status.error:
        return type(error) is ErrorInfo
    return error is None and not (fields["status"] is Status.success and _is_discounted(fields["data"]))


def _is_whole(data: dict[str, Any]) -> bool:
    """Whether the payload has proper keys and says nothing that forbids `success`."""
    return all(type(key) is str for key in data) and not _is_discounted(data)


def _is_discounted(data: dict[str, Any]) -> bool:
    """Whether the payload itself says that the result is not whole."""
    return data.get("truncated") is True or data.get("applied") is False or "fallback" in data


def _simple(cls: type[R], status: Status, data: dict[str, Any], text: str, error: ErrorInfo | None) -> R:
    """An envelope whose parts have been checked, without stats and context yet."""
    fields = {"status": status, "data": data, "text": text, "error": error, "stats": {}, "context": {}, "content": ()}
    return trusted(cls, fields)


def result_in_envelope(value: Any, text: str) -> ToolResponse:
    """The envelope of a plain value, not completed yet."""
    return _simple(ToolResponse, Status.success, {"result": value}, text, None)
