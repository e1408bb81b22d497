"""The models that a server has: its list, read over HTTP with a short deadline."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from toolgate.errors import ModelError
from toolgate.models import errors
from toolgate.models.connection import ConnectionFailed
from toolgate.models.http_client import HttpClient, is_reached_directly
from toolgate.models.vision import entry_implies_vision
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
class CatalogEndpoint:
    """Where a server's list of models is."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    exclude: str = ""
    """A pattern of the names of models that are listed but cannot chat."""


async def list_models(
    listing: CatalogEndpoint, address: str, *, seconds: float = SECONDS, local: bool = False
) -> list[ModelInfo]:
    """Return the models of a server; raises `ModelError` with its address and what is probably wrong.

    `local` ignores the proxies of the environment.
    """
    direct = is_reached_directly(listing.url.partition("?")[0], local=local)
    headers = {"accept-encoding": "identity", **listing.headers}  # a compressed list could expand past every limit
    try:
        async with asyncio.timeout(seconds):
            if direct:
                status, kind, body = await _fetch(listing.url, headers, seconds)
            else:
                status, kind, body = await _fetch_with_httpx(listing.url, headers, seconds, local=local)
    except TimeoutError:
        raise errors.unreachable(address, timed_out=True) from None
    except ConnectionFailed as error:
        raise errors.unreachable(address, timed_out=error.timed_out) from error
    except (UnicodeError, ValueError) as error:
        raise errors.unreachable(address, timed_out=False) from error
    if len(body) > _MAX_BYTES:
        raise ModelError("MODEL_PROTOCOL", f"The list of models has more than {_MAX_BYTES} bytes.")
    text = body.decode("utf-8", "replace")
    _check_status(status, kind, text, address)
    return _models(text, listing, address)


async def _fetch(url: str, headers: dict[str, str], seconds: float) -> tuple[int, str, bytes]:
    """Return the status, the type and the body of an answer."""
    status, found, body = await HttpClient(url, headers, timeout=seconds).get("", _MAX_BYTES)
    return status, found.get("content-type", ""), body


async def _fetch_with_httpx(
    url: str, headers: dict[str, str], seconds: float, *, local: bool
) -> tuple[int, str, bytes]:
    """Fetch the list with httpx2, which knows proxies and the certificates of macOS and Windows."""
    try:
        import httpx2
    except ModuleNotFoundError as error:
        extra = next(name for name, row in PROVIDERS.items() if row.compatible)
        raise errors.sdk_not_installed("httpx2", extra) from error
    body = bytearray()
    try:
        async with (
            httpx2.AsyncClient(timeout=seconds, trust_env=not local, follow_redirects=False) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > _MAX_BYTES:
                    break
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ConnectionFailed(timed_out=isinstance(error, httpx2.TimeoutException)) from error
    return response.status_code, response.headers.get("content-type", ""), bytes(body)


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
    """Return the message of an error response, for a person."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body[:300]
    inner = value.get("error", value) if isinstance(value, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return str(message)[:300] if message else ""


def _models(body: str, listing: CatalogEndpoint, address: str) -> list[ModelInfo]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    rows = value.get("data", value.get("models")) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        cause = f"{address} does not answer with a list of models, so it is not a model's API."
        advice = errors.address_hint(address)
        raise ModelError(
            "MODEL_ADDRESS",
            f"{cause} {advice}",
            cause=cause,
            advice=advice,
        )
    named = [row for row in rows[:_MAX_MODELS] if isinstance(row, dict) and _name(row)]
    return [_info(row) for row in named if not (listing.exclude and re.search(listing.exclude, _name(row)))]


def _name(row: dict[str, Any]) -> str:
    name = row.get("id") or row.get("name") or row.get("model")
    return name if isinstance(name, str) and name.isprintable() and len(name) <= 250 and " " not in name else ""


def _info(row: dict[str, Any]) -> ModelInfo:
    meta = row["meta"] if isinstance(row.get("meta"), dict) else {}
    sizes = (row.get("max_model_len"), row.get("max_input_tokens"), row.get("loaded_context_length"), meta.get("n_ctx"))
    label = row.get("display_name")
    return ModelInfo(
        name=_name(row),
        label=label if isinstance(label, str) and label.isprintable() else _name(row),
        context_tokens=next((size for size in sizes if isinstance(size, int) and 0 < size < 2**40), None),
        vision=entry_implies_vision(row, _name(row)),
    )
