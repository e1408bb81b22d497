"""Health checks of a worker: `/health/live`, `/health/ready` and `/metrics` on a port of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from toolgate.errors import ConfigError
from toolgate.gateway.exposition import CONTENT_TYPE, as_metrics, worker_metrics

if TYPE_CHECKING:
    from toolgate.distributed.worker import Worker

_MAX_HEAD_BYTES = 8192
_SECONDS = 5.0


@contextlib.asynccontextmanager
async def serve_health_checks(worker: Worker, host: str, port: int) -> AsyncIterator[tuple[str, int]]:
    """Serve the health checks inside the block; yields the host and the port."""
    try:
        server = await asyncio.start_server(lambda reader, writer: _answer(worker, reader, writer), host, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise ConfigError(
            [f"{host}:{port}: {reason}. Say --port 0 for a free one, and --host for an address"]
        ) from None
    try:
        address = server.sockets[0].getsockname()
        yield address[0], address[1]
    finally:
        server.close()


async def _answer(worker: Worker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        async with asyncio.timeout(_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            method, _, rest = head[:_MAX_HEAD_BYTES].decode("latin-1").partition(" ")
            code, body = await _respond(worker, rest.partition(" ")[0]) if method == "GET" else (405, "GET only\n")
            reason = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}[code]
            writer.write(
                f"HTTP/1.1 {code} {reason}\r\ncontent-type: {CONTENT_TYPE}\r\n"
                f"content-length: {len(body.encode())}\r\nconnection: close\r\n\r\n{body}".encode()
            )
            await writer.drain()
    writer.close()


async def _respond(worker: Worker, path: str) -> tuple[int, str]:
    if path == "/health/live":
        return 200, "ok\n"
    if path == "/health/ready":
        return (200, "ok\n") if worker.is_ready else (503, f"{worker.condition}\n")
    if path == "/metrics":
        own = worker_metrics(worker.running, worker.slots, ready=worker.is_ready)
        return 200, as_metrics(await worker.status()) + own
    return 404, "There are /health/live, /health/ready and /metrics.\n"
