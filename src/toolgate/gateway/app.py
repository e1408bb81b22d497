"""`create_app`: the gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from toolgate.agent.approvals import RemoteApprover
from toolgate.compose import assemble
from toolgate.errors import ToolgateError
from toolgate.extras import optional_imports
from toolgate.gateway.access import Access
from toolgate.gateway.assets import Assets
from toolgate.gateway.auth import Authenticator
from toolgate.gateway.guard import Guard, Receive, Scope, Send
from toolgate.gateway.metrics import render_metrics
from toolgate.gateway.outputs import serve_output
from toolgate.gateway.pictures import receive_picture, serve_picture
from toolgate.gateway.remote import cluster_metrics, create_service, status_page, workers_model
from toolgate.gateway.service import Service
from toolgate.gateway.tokens import tokens_of
from toolgate.text.redaction import secrets_of
from toolgate.tools.context import checked_settings

with optional_imports():
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route, WebSocketRoute

if TYPE_CHECKING:
    from toolgate.models import ModelClient
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.settings import Settings
    from toolgate.tools.base import CallableTool, Tool

APPROVAL_SECONDS = 600.0
"""Default seconds that an approval request waits for its answer."""


def create_app(
    settings: Settings,
    model: ModelClient | None = None,
    registry: ToolRegistry | None = None,
    *,
    tools: Iterable[Tool[Any] | CallableTool] = (),
) -> Starlette:
    """Create the gateway. It migrates its database at startup, and creates a token if the settings have none.

    `tools` are added to the built-in ones. A `registry` replaces both: the gateway has its tools and no others.

    `app.state.access` knows the tokens; its `code_for(user)` creates a one-time code. `app.state.service` is set while
    the gateway runs, and `app.state.failure` if it could not start.
    """
    settings = _with_defaults(checked_settings(settings))
    if model is not None and not hasattr(model, "stream"):
        raise TypeError(f"model must be a client with stream, not {model!r:.80}: write choose_model(name)")
    access = Access(tokens_of(settings))
    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(Guard, access=access, settings=settings.gateway)],
        lifespan=lambda app: _running(app, settings, model, registry, tools),
    )
    app.state.settings = settings
    app.state.access = access
    app.state.assets = Assets(language=settings.language)
    app.state.service = None
    app.state.failure = None
    app.state.started = time.time()
    return app


def _with_defaults(settings: Settings) -> Settings:
    """Add a token and an approval timeout where the settings have none."""
    gateway, agent = settings.gateway, settings.agent
    if gateway.token_file is not None:  # so that the tokens are masked too
        known = ",".join(f"{user or 'nobody'}:{token}" for user, token in tokens_of(settings).items())
        gateway = gateway.model_copy(update={"tokens": SecretStr(known)})
    elif not gateway.tokens_by_user():
        gateway = gateway.model_copy(update={"token": SecretStr(secrets.token_urlsafe(32))})
    if agent.approval_timeout is None and settings.distributed.role == "local":  # workers wait for days
        agent = agent.model_copy(update={"approval_timeout": APPROVAL_SECONDS})
    return settings.model_copy(update={"gateway": gateway, "agent": agent})


@contextlib.asynccontextmanager
async def _running(
    app: Starlette,
    settings: Settings,
    model: ModelClient | None,
    registry: ToolRegistry | None,
    tools: Iterable[Tool[Any] | CallableTool],
) -> AsyncIterator[None]:
    project = None if settings.distributed.role == "local" else settings.distributed.workspace
    model = model if model is not None else workers_model(settings)
    assembled = assemble(
        settings,
        model=model,
        registry=registry,
        tools=tools,
        approver=RemoteApprover(),
        live_output=True,
        project=project,
    )
    async with contextlib.AsyncExitStack() as closing:
        try:
            stack = await closing.enter_async_context(assembled)
            service = await closing.enter_async_context(create_service(stack, app.state.access))
            service.database = stack.database
            await service.share_sign_outs()
        except Exception as error:
            app.state.failure = error
            raise
        app.state.service, app.state.database = service, stack.database
        service.secrets = secrets_of(stack.settings)
        app.state.authenticator = Authenticator(service)
        watching = asyncio.get_running_loop().create_task(service.watch(), name="toolgate-gateway-watch")
        try:
            yield
        finally:
            watching.cancel()
            app.state.service = None
            await service.aclose()
            for connection in list(service.connections):
                connection.outbox.close(1001, "the gateway is shutting down")


def _routes() -> list[Route | WebSocketRoute]:
    return [
        WebSocketRoute("/ws", _Socket()),
        Route("/", _page, methods=["GET"]),
        Route("/static/{path:path}", _page, methods=["GET"]),
        Route("/auth", _auth, methods=["GET", "POST", "DELETE"]),
        Route("/auth/link", _link, methods=["POST"]),
        Route("/status", status_page, methods=["GET"]),
        Route("/sessions/{session_id}/outputs/{seq:int}", _output, methods=["GET"]),
        Route("/sessions/{session_id}/outputs/{seq:int}/{name}", _output, methods=["GET"]),
        Route("/sessions/{session_id}/pictures", _new_picture, methods=["POST"]),
        Route("/sessions/{session_id}/pictures/{sha256}", _picture, methods=["GET"]),
        Route("/metrics", _metrics, methods=["GET"]),
        Route("/health/live", _live, methods=["GET"]),
        Route("/health/ready", _ready, methods=["GET"]),
    ]


class _Socket:
    """`/ws` as plain ASGI, without a framework between the server and a frame."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.authenticator.socket(scope, receive, send)


async def _page(request: Request) -> Response:
    assets: Assets = request.app.state.assets
    return await assets.serve(request)


async def _auth(request: Request) -> Response:
    authenticator: Authenticator = request.app.state.authenticator
    if request.method == "POST":
        return await authenticator.exchange(request)
    return await (authenticator.sign_out(request) if request.method == "DELETE" else authenticator.whoami(request))


async def _link(request: Request) -> Response:
    authenticator: Authenticator = request.app.state.authenticator
    return await authenticator.link(request)


async def _picture(request: Request) -> Response:
    return await serve_picture(request.app.state.service, request.app.state.authenticator, request)


async def _new_picture(request: Request) -> Response:
    return await receive_picture(request.app.state.service, request.app.state.authenticator, request)


async def _output(request: Request) -> Response:
    return await serve_output(request.app.state.service, request.app.state.authenticator, request)


async def _metrics(request: Request) -> Response:
    """Prometheus metrics, for clients with a token."""
    state = request.app.state
    if state.authenticator.identify(request.scope) is None:
        return JSONResponse({"error": "Send a token."}, status_code=401)
    has_workers = state.settings.distributed.role != "local"
    cluster = await cluster_metrics(state.database, state.settings) if has_workers else ""
    headers = {"cache-control": "no-store"}
    try:
        body, kind = render_metrics(state.service)
    except ImportError:
        if not cluster:
            message = "This needs another package: pip install 'toolgate[metrics]'."
            return JSONResponse({"error": message}, status_code=501)
        return Response(cluster, media_type="text/plain; version=0.0.4", headers=headers)
    return Response(body + cluster.encode(), media_type=kind, headers=headers)


async def _live(_request: Request) -> Response:
    return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})


async def _ready(request: Request) -> Response:
    """Whether turns can start: the database answers."""
    service: Service | None = request.app.state.service
    try:
        if service is None or service.draining:
            raise ToolgateError("starting or shutting down")
        await service.sessions.last_seq("")
    except ToolgateError:
        return JSONResponse({"status": "unavailable"}, status_code=503, headers={"cache-control": "no-store"})
    return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})
