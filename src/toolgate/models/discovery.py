"""Finds model servers on this machine: on their usual ports, over loopback, and only on request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from toolgate.errors import ModelError
from toolgate.models.catalog import list_models
from toolgate.protocol.choices import PROVIDERS, load

PORTS: dict[int, str] = {11434: "Ollama", 8080: "llama.cpp", 8000: "vLLM", 1234: "LM Studio"}
"""Port → the server that usually listens there."""
SECONDS: Final = 1.0
"""Seconds that a server has to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundServer:
    """A server that answers."""

    base_url: str
    label: str
    models: tuple[str, ...]


async def find_servers() -> list[FoundServer]:
    """Return the servers of this machine that answer with a list of models."""
    found = await asyncio.gather(*(_find_server(port, label) for port, label in PORTS.items()))
    return [server for server in found if server is not None]


async def _find_server(port: int, label: str) -> FoundServer | None:
    address = f"http://127.0.0.1:{port}/v1"
    try:
        listing = load(next(row.catalog for row in PROVIDERS.values() if row.compatible))(address, None)
        models = await list_models(listing, address, seconds=SECONDS, local=True)
    except ModelError:
        return None  # nothing listens there, or something that is not a model server
    return FoundServer(base_url=address, label=label, models=tuple(model.name for model in models))
