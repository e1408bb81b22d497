"""The gateway without turns of its own: workers play them; and a page that says how they stand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from toolgate.compose import bench_of
from toolgate.errors import ModelError, ToolgateError
from toolgate.gateway.outputs import EitherBlobs, LocalBlobs
from toolgate.gateway.service import Service, local_service

if TYPE_CHECKING:
    from toolgate.compose import Stack
    from toolgate.distributed.worker import Worker
    from toolgate.gateway.access import Access
    from toolgate.models import ModelClient, ModelItem, ModelRequest
    from toolgate.protocol.ports import BlobStore
    from toolgate.sessions import Database
    from toolgate.settings import Settings


@contextlib.asynccontextmanager
async def service_of(stack: Stack, access: Access) -> AsyncIterator[Service]:
    """The service that the settings ask for, for as long as the block lasts."""
    if stack.settings.distributed.role == "local":
        yield local_service(stack, access)
        return
    from toolgate.distributed.blobs import Blobs
    from toolgate.distributed.feed import DurableFeed
    from toolgate.distributed.options import Options
    from toolgate.distributed.runner import DurableRunner

    settings, database = stack.settings, stack.database
    runner = DurableRunner(database, settings.database.address, Options.of(settings), settings)
    blobs: BlobStore = Blobs(database)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(runner.aclose)
        await runner.start()
        if settings.distributed.role == "both":
            worker = await closing.enter_async_context(_worker(stack))
            runner.before_the_end = worker.drain
            blobs = EitherBlobs(blobs, LocalBlobs(stack.workspace_of, settings.tool_output.dir))
        service = Service(
            settings.gateway,
            access,
            stack.sessions,
            stack.registry,
            DurableFeed(database, stack.sessions),
            lambda _user: runner,
            blobs,
            stack.project,
            coding_enabled=settings.session.coding_enabled,
        )
        service.model = str(getattr(stack.model, "name", ""))
        service.turns_of("")  # it is waited for at the end, also if nobody has sent anything through this process
        yield service


@contextlib.asynccontextmanager
async def _worker(stack: Stack) -> AsyncIterator[Worker]:
    """This process plays turns, too."""
    from toolgate.distributed.options import Options
    from toolgate.distributed.worker import Worker

    settings = stack.settings
    worker = Worker(
        stack.database,
        settings.database.address,
        {stack.project: bench_of(stack)},
        Options.of(settings),
        approval_timeout=settings.agent.approval_timeout,
    )
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop()


class _Elsewhere:
    """A model that only workers can ask: here it has a name, and nothing asks it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Nobody asks a gateway's model."""
        raise ModelError("MODEL_AUTH", "Workers ask the model; this gateway has no key for it.")


def model_elsewhere(settings: Settings) -> ModelClient | None:
    """The model to show where workers have the key and this gateway needs none; `None`: the settings choose one."""
    from toolgate.compose import settings_with_model

    if settings.distributed.role != "gateway":
        return None
    try:
        settings_with_model(settings)
    except ModelError:
        return _Elsewhere(settings.model.name or settings.model.provider)
    return None


async def cluster_metrics(database: Database, settings: Settings) -> str:
    """What is known about all workers, for whoever collects a gateway's metrics; a database that is away is said."""
    from toolgate.distributed.exposition import as_metrics
    from toolgate.distributed.status import look

    try:
        async with asyncio.timeout(_PATIENCE):
            return as_metrics(await database.read(lambda tx: look(tx, lease=settings.distributed.lease_seconds)))
    except (ToolgateError, TimeoutError):
        return as_metrics(None)


async def status_page(request: Request) -> Response:
    """`GET /status`: how workers and queues stand, for people; `?format=json` and `?format=metrics` for programs."""
    from toolgate.distributed.exposition import CONTENT_TYPE, as_metrics
    from toolgate.distributed.status import look
    from toolgate.distributed.status_text import as_page

    state, headers = request.app.state, {"cache-control": "no-store"}
    if state.service is None or state.entry.identify(request.scope) is None:
        return JSONResponse({"error": "Show a token."}, status_code=401, headers=headers)
    database, settings = getattr(state, "database", None), state.settings
    if settings.distributed.role == "local" or database is None:
        return JSONResponse({"error": "This gateway plays its turns itself."}, status_code=404, headers=headers)
    try:
        status = await database.read(lambda tx: look(tx, lease=settings.distributed.lease_seconds))
    except ToolgateError as error:
        return JSONResponse({"error": str(error)}, status_code=503, headers=headers)
    form = request.query_params.get("format", "")
    if form == "json":
        return JSONResponse(status.model_dump(mode="json"), headers=headers)
    if form == "metrics":
        return PlainTextResponse(as_metrics(status), headers=headers, media_type=CONTENT_TYPE)
    return HTMLResponse(as_page(status), headers={**headers, "content-security-policy": _POLICY})


_PATIENCE = 3.0
"""Seconds that whoever collects metrics waits for the database."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
