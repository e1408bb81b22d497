"""The gateway whose turns are run by workers, and its status page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from toolgate.compose import workspace_runtime
from toolgate.errors import ConfigError, ModelError, ToolgateError
from toolgate.extras import optional_imports
from toolgate.gateway.local import attach_files, local_service
from toolgate.gateway.model_methods import may_set_up
from toolgate.gateway.outputs import FallbackBlobs, LocalBlobs
from toolgate.gateway.service import Service
from toolgate.language.translate import use

with optional_imports():
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

if TYPE_CHECKING:
    from toolgate.compose import Stack
    from toolgate.distributed.worker import Worker
    from toolgate.gateway.access import Access
    from toolgate.models import ModelClient, ModelItem, ModelRequest
    from toolgate.protocol.ports import BlobStore
    from toolgate.sessions import Database
    from toolgate.settings import Settings


@contextlib.asynccontextmanager
async def create_service(stack: Stack, access: Access) -> AsyncIterator[Service]:
    """Create the service that the settings ask for, while the block runs."""
    if stack.settings.distributed.role == "local":
        yield local_service(stack, access)
        return
    from toolgate.distributed.options import ClusterOptions
    from toolgate.distributed.runner import DurableRunner
    from toolgate.gateway.durable_feed import DurableFeed
    from toolgate.sessions.blobs import Blobs

    settings, database = stack.settings, stack.database
    runner = DurableRunner(database, settings.database.address, ClusterOptions.of(settings), settings)
    blobs: BlobStore = Blobs(database)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(runner.aclose)
        await runner.start()
        if settings.distributed.role == "both":
            worker = await closing.enter_async_context(_worker(stack))
            runner.before_shutdown = worker.drain
            blobs = FallbackBlobs(blobs, LocalBlobs(stack.workspace_of, settings.tool_output.dir))
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
        service.models = stack.models
        service.model_setup = settings.distributed.role == "both" and may_set_up(settings)
        if settings.distributed.role == "both":
            attach_files(service, stack)
        service.turns_of("")  # created now, so that the shutdown waits for it even if nothing was sent
        yield service


@contextlib.asynccontextmanager
async def _worker(stack: Stack) -> AsyncIterator[Worker]:
    """Run a worker in this process too."""
    from toolgate.distributed.options import ClusterOptions
    from toolgate.distributed.worker import Worker

    settings = stack.settings
    if settings.distributed.workspaces != "local":
        raise ConfigError(
            ["TOOLGATE_DISTRIBUTED_WORKSPACES: a gateway shows the files of its root. Use `toolgate worker` for others"]
        )
    worker = Worker(
        stack.database,
        settings.database.address,
        {stack.project: workspace_runtime(stack)},
        ClusterOptions.of(settings),
        approval_timeout=settings.agent.approval_timeout,
    )
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop()


class _WorkersModel:
    """A model that only workers use; the gateway just shows its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Raise: the gateway does not use the model."""
        raise ModelError("MODEL_AUTH", "Workers use the model; this gateway has no key for it.")


def workers_model(settings: Settings) -> ModelClient | None:
    """Return the model to show if only workers have the key; None if the settings choose one."""
    from toolgate.compose import settings_with_model

    if settings.distributed.role != "gateway":
        return None
    try:
        settings_with_model(settings)
    except ModelError:
        return _WorkersModel(settings.model.name or settings.model.provider)
    return None


async def cluster_metrics(database: Database, settings: Settings) -> str:
    """Return the metrics of all workers, or that the database is unavailable."""
    from toolgate.distributed.status import read_status
    from toolgate.gateway.exposition import as_metrics

    try:
        async with asyncio.timeout(_METRICS_TIMEOUT):
            return as_metrics(await database.read(lambda tx: read_status(tx, lease=settings.distributed.lease_seconds)))
    except (ToolgateError, TimeoutError):
        return as_metrics(None)


async def status_page(request: Request) -> Response:
    """Handle `GET /status`: for people a page; `?format=json` and, with workers, `?format=metrics` for programs.

    A browser that opens the address has no header with a token. It gets a page that asks with the page's key.
    """
    from toolgate.distributed.status import read_status
    from toolgate.gateway.exposition import CONTENT_TYPE, as_metrics
    from toolgate.gateway.status_text import as_page

    state, headers = request.app.state, {"cache-control": "no-store"}
    use(state.assets.language(request))  # of this request only: it has a task of its own
    if state.service is None or state.authenticator.identify(request.scope) is None:
        if "text/html" in request.headers.get("accept", "") and "authorization" not in request.headers:
            page: Response = await state.assets.serve(request, "status.html")
            return page
        return JSONResponse({"error": "Send a token."}, status_code=401, headers=headers)
    database, settings = getattr(state, "database", None), state.settings
    if settings.distributed.role == "local" or database is None:
        return await _own_status(request)
    try:
        status = await database.read(lambda tx: read_status(tx, lease=settings.distributed.lease_seconds))
    except ToolgateError as error:
        return JSONResponse({"error": str(error)}, status_code=503, headers=headers)
    form = request.query_params.get("format", "")
    if form == "json":
        return JSONResponse(status.model_dump(mode="json"), headers=headers)
    if form == "metrics":
        return PlainTextResponse(as_metrics(status), headers=headers, media_type=CONTENT_TYPE)
    return HTMLResponse(as_page(status), headers={**headers, "content-security-policy": _CSP})


async def _own_status(request: Request) -> Response:
    """Return the state of a gateway that runs its turns itself."""
    from toolgate.gateway import local_status

    state, headers = request.app.state, {"cache-control": "no-store"}
    status = await local_status.read_local_status(state.service, state.settings, state.started)
    if request.query_params.get("format", "") == "json":
        return JSONResponse(status.model_dump(mode="json"), headers=headers)
    return HTMLResponse(local_status.as_page(status), headers={**headers, "content-security-policy": _CSP})


_METRICS_TIMEOUT = 3.0
"""Maximum seconds that a metrics request waits for the database."""
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
