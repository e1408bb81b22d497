"""Runs the gateway: the socket, uvicorn, the URL that opens the page, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from toolgate.errors import ConfigError, ToolgateError
from toolgate.extras import optional_imports
from toolgate.gateway.addresses import is_loopback
from toolgate.gateway.app import create_app
from toolgate.gateway.listener import Listener
from toolgate.gateway.logs import logging_to_stderr
from toolgate.gateway.protocols import DeadlineProtocol, SocketProtocol
from toolgate.gateway.tokens import tokens_of
from toolgate.log import logger
from toolgate.runtime.policy_source import check_users_policy
from toolgate.text.redaction import add_secrets, secrets_of
from toolgate.userfiles import ADDRESS_FILE, replace_file, users_data

with optional_imports():
    import uvicorn

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from toolgate.settings import GatewaySettings, Settings
    from toolgate.tools.base import Tool

_BACKLOG = 2048
"""Beside the user's database: where the last gateway listens."""


def serve(
    settings: Settings, *, say: Callable[[str], None], browser: bool = False, tools: Sequence[Tool[Any]] = ()
) -> int:
    """Serve until a signal, with these tools beside the built-in ones; return the exit code."""
    check_address(settings.gateway)
    check_users_policy(settings.policy_file)
    with contextlib.closing(_listening(settings.gateway)) as listening:
        port = listening.getsockname()[1]
        gateway = settings.gateway.model_copy(update={"port": port})
        app = create_app(settings.model_copy(update={"gateway": gateway}), tools=tools)
        _raise_descriptor_limit()
        with logging_to_stderr(app.state.settings):
            server = GatewayServer(app)
            address = _address(app, port)
            server.when_started = lambda: _announce(app, address, say, browser=browser)
            _note_address(address)
            server.run(sockets=[listening])
    return 0 if server.started else 1


def check_address(settings: GatewaySettings) -> None:
    """Refuse to be reachable from other machines without encryption, unless that was explicitly requested."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise ConfigError(["TLS needs both: set TOOLGATE_GATEWAY_TLS_CERT and TOOLGATE_GATEWAY_TLS_KEY"])
    if is_loopback(settings.host) or settings.tls_cert is not None or settings.insecure_http:
        return
    raise ConfigError(
        [
            f"{settings.host}: tokens and everything else could be read on the way. Serve with --tls-cert and "
            "--tls-key, or stay on 127.0.0.1 behind a proxy that encrypts, or use --insecure-http"
        ]
    )


def _listening(settings: GatewaySettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
        return Listener(listening, encrypted=settings.tls_cert is not None)
    except OSError as error:
        raise ConfigError([f"{settings.host}:{settings.port}: {error.strerror}. Use --port 0 for a free one"]) from None


def disable_nagle(listening: socket.socket) -> None:
    """Disable Nagle's algorithm, which can delay a response by 40 ms.

    asyncio does this only for sockets whose protocol was named when they were created; ours was not.
    """
    if listening.family in (socket.AF_INET, socket.AF_INET6):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it


def _address(app: Starlette, port: int) -> str:
    settings = app.state.settings.gateway
    scheme = "https" if settings.tls_cert is not None else "http"
    host = settings.host if is_loopback(settings.host) else next(iter(settings.allowed_hosts), "localhost")
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


def _announce(app: Starlette, address: str, say: Callable[[str], None], *, browser: bool) -> None:
    access = app.state.access
    for user in access.users:
        say(f"Toolgate{f' for {user}' if user else ''}: {address}#{access.code_for(user)}")
    say("The URL works once, within an hour; toolgate link prints another. Press Ctrl-C to stop the gateway.")
    if browser:
        from webbrowser import open_new_tab

        open_new_tab(f"{address}#{access.code_for(next(iter(access.users)))}")


def _note_address(address: str) -> None:
    """Write down where the last gateway of this user listens, for `toolgate link`."""
    path = users_data(os.environ, ADDRESS_FILE)
    if path is not None:
        with contextlib.suppress(OSError):  # then `toolgate link` has to be told the port
            replace_file(path, address)


def _raise_descriptor_limit() -> None:
    """Raise the limit on file descriptors as far as the system allows."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # then the limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


class _StartupErrorFilter(logging.Filter):
    """Stops uvicorn from logging the traceback of an error that is raised anyway."""

    def __init__(self, app: Starlette) -> None:
        super().__init__()
        self._app = app

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        return self._app.state.failure is None


class GatewayServer(uvicorn.Server):
    """uvicorn with a graceful shutdown for turns."""

    def __init__(self, app: Starlette, **options: Any) -> None:
        self._app = app
        gateway = app.state.settings.gateway
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",  # uvloop, which uvicorn prefers, accepts clients without asking `Listener`
                http=DeadlineProtocol,
                ws=SocketProtocol,
                ws_max_size=gateway.max_frame_bytes,
                ws_per_message_deflate=False,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=5,
                ssl_certfile=gateway.tls_cert,
                ssl_keyfile=gateway.tls_key,
                **options,
            )
        )
        self.when_started: Callable[[], None] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Announce the URL once the server answers; raise the startup error that uvicorn would only log."""
        for listening in sockets or ():
            disable_nagle(listening)
        log, quiet = logging.getLogger("uvicorn.error"), _StartupErrorFilter(self._app)
        log.addFilter(quiet)
        try:
            await super().startup(sockets)
        except SystemExit:
            failure: Exception | None = self._app.state.failure
            if failure is None:
                raise
            raise failure from failure.__cause__
        finally:
            log.removeFilter(quiet)
        if self.started:
            self.when_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals as uvicorn does; SIGHUP also reloads the tokens."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with super().capture_signals():
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGHUP, self._reload)
            try:
                yield
            finally:
                loop.remove_signal_handler(signal.SIGHUP)
                self._captured_signals.clear()  # the shutdown is complete, so the signal must not be raised again

    def _reload(self) -> None:
        try:
            tokens = tokens_of(self._app.state.settings)
        except ToolgateError as error:
            logger("gateway").error("tokens_not_reloaded", reason=str(error))
            return
        add_secrets(secrets_of(self._app.state.settings), tokens.values())
        self._app.state.access.replace(tokens)
        if self._app.state.service is not None:
            self._app.state.service.close_expired()
        logger("gateway").info("tokens_reloaded", users=len(tokens))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let turns finish for a while, then stop. Connections that are still open then are cut."""
        for server in self.servers:
            server.close()
        service = self._app.state.service
        if service is not None:
            draining = asyncio.ensure_future(service.drain())
            while not draining.done() and not self.force_exit:
                await asyncio.wait({draining}, timeout=0.2)
            draining.cancel()
        await super().shutdown(sockets)
        for connection in self.server_state.connections:
            connection.transport.abort()
