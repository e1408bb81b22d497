"""What went wrong at a provider, in our words: the one place where statuses become codes."""

from __future__ import annotations

from collections.abc import Mapping

from toolgate.errors import ModelError

_LONGEST = 300
_TOO_LONG = (
    "context length",
    "context_length",
    "context window",
    "prompt is too long",
    "too many tokens",
    "maximum context",
)


def from_status(status: int, message: str, headers: Mapping[str, str], *, key_name: str) -> ModelError:
    """The error of an HTTP status."""
    said = _shortened(message)
    if status in (401, 403):
        return ModelError("MODEL_AUTH", f"The model's provider refused the key ({status}): {said} Check {key_name}.")
    if status == 413 or (status in (400, 422) and any(words in message.lower() for words in _TOO_LONG)):
        return ModelError("MODEL_CONTEXT", f"The conversation is too long for the model: {said}")
    after = _seconds(headers)
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
    """No answer, or one that broke off."""
    what = "did not answer in time" if timed_out else "cannot be reached, or the connection broke"
    return ModelError("MODEL_UNAVAILABLE", f"The model at {address} {what}.", retryable=True)


def late(address: str, what: str) -> ModelError:
    """An answer that takes too long though something is sent."""
    return ModelError("MODEL_UNAVAILABLE", f"The answer of the model at {address} {what}.", retryable=True)


def broken_off() -> ModelError:
    """A stream without the event that ends an answer: nobody knows what is missing."""
    return ModelError("MODEL_UNAVAILABLE", "The model's answer broke off before its end.", retryable=True)


def too_long(most: int) -> ModelError:
    """An answer that does not end."""
    return ModelError("MODEL_PROTOCOL", f"The model's answer has more than {most} bytes; the rest was not read.")


def nonsense(what: str) -> ModelError:
    """An answer that no model gives; the next one may be better."""
    return ModelError("MODEL_PROTOCOL", f"The model's server answered with {what}.", retryable=True)


def missing(package: str, extra: str) -> ModelError:
    """The SDK is not installed."""
    return ModelError(
        "MODEL_BAD_REQUEST", f"The package '{package}' is not installed: pip install 'toolgate[{extra}]'."
    )


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 3600 else None


def _shortened(message: str) -> str:
    text = " ".join(message.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
