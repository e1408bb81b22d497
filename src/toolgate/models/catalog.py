"""The models that a server has: its list, read over HTTP with a short deadline."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from toolgate.errors import ModelError
from toolgate.models import errors
from toolgate.models.vision import listed_as_seeing
from toolgate.protocol.choices import PROVIDERS

SECONDS: Final = 8.0
"""Seconds that a server has for its list."""
_MAX_BYTES: Final = 4 * 1024 * 1024
_MAX_MODELS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model of a server."""

    name: str
    label: str = ""
    context_tokens: int | None = None
    """Tokens that it takes, if the server says so."""
    vision: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Where a server's list of models is."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    leave_out: str = ""
    """A pattern of names that are listed and do not chat."""


async def list_models(
    listing: Listing, address: str, *, seconds: float = SECONDS, local: bool = False
) -> list[ModelInfo]:
    """Return the models of a server; raises `ModelError` with its address and what is probably wrong.

    `local` ignores the proxies of the environment.
    """
    try:
        import httpx2
    except ModuleNotFoundError as error:
        extra = next(name for name, row in PROVIDERS.items() if row.compatible)
        raise errors.sdk_not_installed("httpx2", extra) from error
    from toolgate.models.bounded_http import OPTIONS

    headers = {**OPTIONS["headers"], **listing.headers}
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(timeout=seconds, trust_env=not local, follow_redirects=False) as client,
            client.stream("GET", listing.url, headers=headers) as response,
        ):
            body = await _body(response)
            status, kind = response.status_code, response.headers.get("content-type", "")
    except (TimeoutError, httpx2.TimeoutException):
        raise errors.unreachable(address, timed_out=True) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise errors.unreachable(address, timed_out=False) from error
    _check_status(status, kind, body, address)
    return _models(body, listing, address)


async def _body(response: Any) -> str:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > _MAX_BYTES:
            raise ModelError("MODEL_PROTOCOL", f"The list of models has more than {_MAX_BYTES} bytes.")
    return body.decode("utf-8", "replace")


def _check_status(status: int, kind: str, body: str, address: str) -> None:
    if "html" in kind or errors.is_markup(body):
        raise errors.not_an_api(address, status=status)
    if 300 <= status < 400:
        raise ModelError(
            "MODEL_ADDRESS",
            f"{address} sends requests to another address ({status}). Use the address that it sends them to.",
            advice="Use the address that it sends them to.",
        )
    if status >= 400:
        raise errors.from_status(status, _message(body) or "no reason given", {}, key_name="the key", address=address)


def _message(body: str) -> str:
    """What an error says, for a person."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body[:300]
    inner = value.get("error", value) if isinstance(value, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    return str(said)[:300] if said else ""


def _models(body: str, listing: Listing, address: str) -> list[ModelInfo]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    rows = value.get("data", value.get("models")) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        raise ModelError(
            "MODEL_ADDRESS",
            f"{address} does not answer with a list of models, so it is not a model's API. {errors.mistake(address)}",
            cause=f"{address} does not answer with a list of models, so it is not a model's API.",
            advice=errors.mistake(address),
        )
    named = [row for row in rows[:_MAX_MODELS] if isinstance(row, dict) and _name(row)]
    return [_info(row) for row in named if not (listing.leave_out and re.search(listing.leave_out, _name(row)))]


def _name(row: dict[str, Any]) -> str:
    name = row.get("id") or row.get("name") or row.get("model")
    return name if isinstance(name, str) and name.isprintable() and len(name) <= 250 and " " not in name else ""


def _info(row: dict[str, Any]) -> ModelInfo:
    meta = row["meta"] if isinstance(row.get("meta"), dict) else {}
    said = (row.get("max_model_len"), row.get("max_input_tokens"), row.get("loaded_context_length"), meta.get("n_ctx"))
    label = row.get("display_name")
    return ModelInfo(
        name=_name(row),
        label=label if isinstance(label, str) and label.isprintable() else _name(row),
        context_tokens=next((size for size in said if isinstance(size, int) and 0 < size < 2**40), None),
        vision=listed_as_seeing(row, _name(row)),
    )
