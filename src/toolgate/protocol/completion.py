"""Completes an envelope: fills in every field, and makes sure that it is valid JSON and Unicode."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ErrorInfo, Status, ToolResponse, is_sound
from toolgate.protocol.jsontext import encode, is_unicode, scrub
from toolgate.protocol.unvalidated import maker, trusted

_new_error, _new_response = maker(ErrorInfo), maker(ToolResponse)
_ERROR = Status.error
_UNTOUCHED = frozenset({"status", "error", "content"})
NEVER_VALIDATED = "returned an envelope that was never validated and contradicts itself"


class UnusableResponseError(Exception):
    """The envelope cannot be sent; the text says what the tool did wrong, after the tool's name."""


def refused(code: ErrorCode, message: str, arguments: Any, milliseconds: float) -> ToolResponse:
    """The complete envelope of a call that was refused before it ran, with nothing to say but the message."""
    return _new_response(
        {
            "status": _ERROR,
            "data": {},
            "text": message,
            "error": _new_error({"code": code, "message": message}),
            "stats": {"time_ms": milliseconds},
            "context": {"cwd": ".", "params_input": arguments},
            "content": (),
        }
    )


def complete(
    response: ToolResponse, *, arguments: Any, milliseconds: float, data_is_shown: bool
) -> tuple[ToolResponse, str]:
    """The envelope with `time_ms`, `cwd` and `params_input`, and its data as JSON.

    Unless `data_is_shown`, the JSON only proves that the data can be written: plain texts in it are left out.
    """
    if not is_sound(response):
        raise UnusableResponseError(NEVER_VALIDATED)
    fields = response.__dict__
    data, stats, context = fields["data"], fields["stats"], fields["context"]
    try:
        data_text = encode(data if data_is_shown else _without_plain_texts(data)) if data else ""
        beside = encode([stats, context]) if stats or context else ""
    except (ValueError, TypeError, RecursionError) as error:
        raise UnusableResponseError(f"returned what JSON cannot express ({type(error).__name__})") from None
    completed = _new_response(
        {
            **fields,
            "stats": {**stats, "time_ms": milliseconds},
            "context": {"cwd": ".", **context, "params_input": arguments},
        }
    )
    message = "" if fields["error"] is None else fields["error"].message
    written = arguments if type(arguments) is str else ""
    if all(map(is_unicode, (data_text, beside, fields["text"], message, written))):
        return completed, data_text
    return _scrubbed(completed), scrub(data_text)


def _without_plain_texts(data: dict[str, Any]) -> dict[str, Any]:
    return {key: "" if type(item) is str and item.isascii() else item for key, item in data.items()}


def _scrubbed(response: ToolResponse) -> ToolResponse:
    fields = {name: scrub(value) for name, value in response.__dict__.items() if name not in _UNTOUCHED}
    error = response.error
    if error is not None:
        error = trusted(ErrorInfo, {"code": error.code, "message": scrub(error.message)})
    return trusted(ToolResponse, {**fields, "status": response.status, "error": error, "content": response.content})
