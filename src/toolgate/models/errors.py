"""Errors of model providers as `ModelError`. Only this module maps HTTP statuses to error codes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from toolgate.errors import ModelError
from toolgate.models.overflow import find_overflow

_MAX_MESSAGE = 300
_QUOTA = r"(?i)insufficient_quota|exceeded your current quota|credit balance is too low|billing|payment required"
"""Matches what providers say when an account has no credit or no quota left."""
_MARKUP = r"(?i)\s*(?:<!doctype|<html|<head|<body|<\?xml)"


def from_status(
    status: int,
    message: str,
    headers: Mapping[str, str],
    *,
    key_name: str,
    address: str = "",
    model: str = "",
    body: str = "",
) -> ModelError:
    """Return the error for an HTTP status.

    `address` is the server's and `model` is the requested model. `body` is the whole response, which no message shows.
    """
    summary, full_text = _shorten(message), f"{message} {body}"
    if is_markup(body) or is_markup(message):
        if status < 500:
            return not_an_api(address, status=status)
        summary = "it answers with a web page."
    if re.search(_QUOTA, full_text) and status in (400, 402, 403, 429):
        return _error(
            "MODEL_QUOTA",
            f"The model's provider does not answer because of the account's quota or billing ({status}): {summary}",
            "Check the plan and the balance at the provider, or choose another model.",
        )
    if status in (401, 403):
        return _error("MODEL_AUTH", f"The model's provider refused the key ({status}): {summary}", f"Check {key_name}.")
    if status == 413 or (status in (400, 422, 500) and find_overflow(full_text) is not None):
        return too_long(summary, full_text)
    if status == 404:
        return _not_found(summary, address, model)
    return _temporary(status, summary, _retry_after(headers)) or _error(
        "MODEL_BAD_REQUEST", f"The model's provider did not accept the request ({status}): {summary}"
    )


def _temporary(status: int, summary: str, after: float | None) -> ModelError | None:
    """Return the error for a status after which a later attempt may succeed; None for any other status."""
    if status == 429:
        return _error(
            "MODEL_RATE_LIMIT",
            f"The model's provider limits the rate: {summary}",
            "Wait a little, then send the message again.",
            retry_after=after,
            retryable=True,
        )
    if status in (408, 409) or status >= 500:
        failure = "is overloaded" if status == 529 else "failed"
        return _error(
            "MODEL_UNAVAILABLE",
            f"The model's provider {failure} ({status}): {summary}",
            "Wait a little, then send the message again.",
            retry_after=after,
            retryable=True,
        )
    return None


def too_long(summary: str, full_text: str) -> ModelError:
    """The conversation does not fit into the model. `full_text` is everything that the server said."""
    found = find_overflow(full_text)
    error = _error(
        "MODEL_CONTEXT",
        f"The conversation is too long for the model: {_shorten(summary)}",
        "Summarise it with /compact, or start a new session.",
    )
    if found is not None:
        error.limit, error.used = found.limit, found.used
    return error


def _not_found(summary: str, address: str, model: str) -> ModelError:
    at = f" at {address}" if address else ""
    if model and (model.lower() in summary.lower() or "model" in summary.lower()):
        return _error(
            "MODEL_NOT_FOUND",
            f"There is no model {model!r}{at} (404): {summary}",
            "Choose one of its models with /model, or pull it there first.",
        )
    return _error(
        "MODEL_NOT_FOUND", f"The server{at} does not know the address (404): {summary}", address_hint(address)
    )


def is_markup(text: str) -> bool:
    """Whether a text is a web page and not an answer of an API."""
    return re.match(_MARKUP, text) is not None


def not_an_api(address: str, *, status: int = 200) -> ModelError:
    """The server answers with a web page."""
    return _error(
        "MODEL_ADDRESS",
        f"{address or 'The server'} answers with a web page, not with JSON ({status}), so it is not a model's API.",
        address_hint(address),
    )


def address_hint(address: str) -> str:
    """Return what is probably wrong with an address."""
    if address and not re.search(r"/v\d+/?$", address):
        return f"The address probably lacks /v1: try {address.rstrip('/')}/v1."
    return "Check the address and the port."


def unreachable(address: str, *, timed_out: bool) -> ModelError:
    """The server did not respond, or the connection failed."""
    failure = "did not answer in time" if timed_out else "cannot be reached, or the connection broke"
    return _error(
        "MODEL_UNAVAILABLE",
        f"The model at {address} {failure}.",
        "Check that its server runs and that the address and the port are right.",
        retryable=True,
    )


def response_timeout(address: str, what: str) -> ModelError:
    """The response takes too long although the server sends something."""
    return _error(
        "MODEL_UNAVAILABLE",
        f"The response of the model at {address} {what}.",
        "Send the message again.",
        retryable=True,
    )


def incomplete_response() -> ModelError:
    """The stream ended without its final event, so the response is incomplete."""
    return _error(
        "MODEL_UNAVAILABLE",
        "The model's response broke off before its end.",
        "Send the message again.",
        retryable=True,
    )


def response_too_large(limit: int) -> ModelError:
    """The response exceeds the size limit."""
    return ModelError("MODEL_PROTOCOL", f"The model's response has more than {limit} bytes; the rest was not read.")


def invalid_response(what: str) -> ModelError:
    """The response is not valid. A retry may help."""
    return _error(
        "MODEL_PROTOCOL", f"The model's server answered with {what}.", "Send the message again.", retryable=True
    )


def error_in_stream(message: str) -> ModelError:
    """The server sent an error in its stream. A request that is too long and an empty account are not retried."""
    if find_overflow(message) is not None:
        return too_long(message, message)
    if re.search(_QUOTA, message):
        return from_status(402, message, {}, key_name="the key")
    return invalid_response(f"an error in its stream: {message[:_MAX_MESSAGE]}")


def sdk_not_installed(package: str, extra: str) -> ModelError:
    """The SDK is not installed."""
    return _error("MODEL_BAD_REQUEST", f"The package '{package}' is not installed: pip install 'toolgate[{extra}]'.")


def refusal(code: str, cause: str, advice: str = "") -> ModelError:
    """The model cannot be set up as it was entered."""
    return _error(code, cause, advice)


def _error(
    code: str, cause: str, advice: str = "", *, retryable: bool = False, retry_after: float | None = None
) -> ModelError:
    message = f"{cause} {advice}".strip()
    return ModelError(code, message, retryable=retryable, retry_after=retry_after, cause=cause, advice=advice)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from a number of seconds, of milliseconds, or a date."""
    header = headers.get("retry-after", "")
    try:
        milliseconds = headers.get("retry-after-ms")
        seconds = float(milliseconds) / 1000 if milliseconds else float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
        seconds = max(0.0, seconds)
    return seconds if 0 <= seconds < 3600 else None


def _shorten(message: str) -> str:
    text = " ".join(message.split())
    text = text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
