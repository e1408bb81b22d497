"""`mount`: the gateway, its page and its socket inside another Starlette or FastAPI application."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from toolgate.extras import optional_imports
from toolgate.gateway.app import create_app

with optional_imports():
    from starlette.applications import Starlette
    from starlette.routing import Mount

if TYPE_CHECKING:
    from toolgate.models import ModelClient
    from toolgate.runtime.registry import ToolRegistry
    from toolgate.settings import Settings
    from toolgate.tools.base import CallableTool, Tool

_PREFIX = re.compile(r"(/[\w.~-]+)+")


def mount(
    app: Starlette,
    path: str,
    settings: Settings | None = None,
    *,
    model: ModelClient | None = None,
    registry: ToolRegistry | None = None,
    tools: Iterable[Tool[Any] | CallableTool] = (),
) -> Starlette:
    """Mount the gateway under a path of `app`, and start and stop it with that application.

    `settings=None` reads the environment and the user's config file. The other arguments are those of `create_app`.
    Returns the gateway: `gateway.state.access.code_for("")` is a one-time code for its page. Call it before the
    application starts; it raises before anything has changed.
    """
    prefix = _checked_path(app, path)
    if settings is None:
        from toolgate.settings import Settings

        settings = Settings.load()
    gateway = create_app(settings, model, registry, tools=tools)
    outer = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(host: Any) -> AsyncIterator[Any]:
        """The application first, because tools may use what it opens; the gateway ends before it."""
        async with outer(host) as state, gateway.router.lifespan_context(gateway):
            yield state

    app.router.lifespan_context = lifespan
    app.mount(prefix, gateway, name=f"toolgate:{prefix}")
    return gateway


def _checked_path(app: object, path: object) -> str:
    if not isinstance(app, Starlette):
        raise TypeError(f"app must be a Starlette or FastAPI application, not {type(app).__name__}")
    if not isinstance(path, str) or (path.rstrip("/") and _PREFIX.fullmatch(path.rstrip("/")) is None):
        raise ValueError(f'path must be a plain prefix, not {path!r:.80}: write "/agent"')
    prefix = path.rstrip("/")
    for route in app.routes:
        if isinstance(route, Mount) and route.path == prefix:
            raise ValueError(f"{path!r} is mounted already: choose another prefix")
        if getattr(route, "path", None) == f"{prefix}/":
            raise ValueError(f"the application has a route {prefix}/, which would hide the page: choose another prefix")
    return prefix
