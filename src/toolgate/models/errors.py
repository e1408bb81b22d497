"""Errors of model providers as `ModelError`. Only this module maps HTTP statuses to error codes."""

from __future__ import annotations

from collections.abc import Mapping

from toolgate.errors import ModelError

_MAX_MESSAGE = 300
_CONTEXT_LENGTH_PHRASES = (
    "context length",
    "context_length",
    "context window",
    "prompt is too long",
    "too many tokens",
    "maximum context",
)


def from_status(status: int, message: str, headers: Mapping[str, str], *, key_name: str) -> ModelError:
    """Return the error for an HTTP status."""
    said = _shorten(message)
    if status in (401, 403):
        return ModelError("MODEL_AUTH", f"The model's provider refused the key ({status}): {said} Check {key_name}.")
    if status == 413 or (status in (400, 422) and any(words in message.lower() for words in _CONTEXT_LENGTH_PHRASES)):
        return ModelError("MODEL_CONTEXT", f"The conversation is too long for the model: {said}")
    after = _retry_after(headers)
    if status == 429:
        return ModelError(
            "MODEL_RATE_LIMIT", f"The model's provider limits the rate: {said}", retryable=True, retry_after=after
        )
    if status in (408, 409) or status >= 500:
        return ModelError(
            "MODEL_UNAVAILABLE", f"The model's provider failed ({status}): {said}", retryable=True, retry_after=after
        )
    return ModelError("MODEL_BAD_REQUEST", f"The model's provider did not accept the request ({status}): {said}")


def unreachable(address: str, *, timed_out: bool) -> ModelError:
    """The server did not respond, or the connection failed."""
    what = "did not answer in time" if timed_out else "cannot be reached, or the connection broke"
    return ModelError("MODEL_UNAVAILABLE", f"The model at {address} {what}.", retryable=True)


def response_timeout(address: str, what: str) -> ModelError:
    """The response takes too long although the server sends something."""
    return ModelError("MODEL_UNAVAILABLE", f"The response of the model at {address} {what}.", retryable=True)


def incomplete_response() -> ModelError:
    """The stream ended without its final event, so the response is incomplete."""
    return ModelError("MODEL_UNAVAILABLE", "The model's response broke off before its end.", retryable=True)


def response_too_large(limit: int) -> ModelError:
    """The response exceeds the size limit."""
    return ModelError("MODEL_PROTOCOL", f"The model's response has more than {limit} bytes; the rest was not read.")


def invalid_response(what: str) -> ModelError:
    """The response is not valid. A retry may help."""
    return ModelError("MODEL_PROTOCOL", f"The model's server answered with {what}.", retryable=True)


def sdk_not_installed(package: str, extra: str) -> ModelError:
    """The SDK is not installed."""
    return ModelError(
        "MODEL_BAD_REQUEST", f"The package '{package}' is not installed: pip install 'toolgate[{extra}]'."
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 3600 else None


def _shorten(message: str) -> str:
    text = " ".join(message.split())
    text = text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
