"""The streamable HTTP transport of the SDK, with a limit on the size of responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.limits import MAX_MESSAGE_BYTES, MessageRateLimit, RateLimitedMessages
from toolgate.extras import optional_imports

with optional_imports():
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from types import TracebackType

_CONNECT_TIMEOUT = 10.0
_SESSION_HEADER = "mcp-session-id"


class HttpTransport:
    """Connects to the server's URL. An instance is used once."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._status = ""
        self.lost = asyncio.Event()
        """Set when the server has ended this session."""

    @property
    def problem(self) -> str:
        """The last refusal that was an HTTP status."""
        return self._status

    @property
    def invalid_lines(self) -> str:
        """Always empty: over HTTP there is nothing between messages."""
        return ""

    @property
    def server_message(self) -> str:
        """Always empty: over HTTP there is no standard error."""
        return ""

    async def __aenter__(self) -> Any:
        headers = {name: value.get_secret_value() for name, value in self._config.headers.items()}
        client = httpx2.AsyncClient(
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT_TIMEOUT, read=None),
            transport=_LimitedTransport(httpx2.AsyncHTTPTransport()),
            event_hooks={"response": [self._check_status]},
            trust_env=False,
        )
        await self._stack.enter_async_context(client)
        messages, answers = await self._stack.enter_async_context(
            streamable_http_client(self._config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)
        )
        return RateLimitedMessages(messages, MessageRateLimit()), answers

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _check_status(self, response: httpx2.Response) -> None:
        """Record what the SDK does not report: the status of a refused request, and the end of a session."""
        if response.status_code < 400 or response.request.method != "POST":
            return
        self._status = f"its server answered {response.status_code}"
        with suppress(ValueError):  # a status without a standard phrase
            self._status += f" {HTTPStatus(response.status_code).phrase}"
        if response.status_code == 404 and _SESSION_HEADER in response.request.headers:
            self._status = "its server has ended the session"
            self.lost.set()


class _ResponseTooLarge(httpx2.StreamError):
    """The response is larger than one message may be."""


class _LimitedTransport(httpx2.AsyncBaseTransport):
    """Limits responses that are not event streams to the size of one message."""

    def __init__(self, transport: httpx2.AsyncHTTPTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and limit the response."""
        response = await self._transport.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()  # a compressed response could expand without limit
            return httpx2.Response(502, request=request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _LimitedBody(response.stream)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class _LimitedBody(httpx2.AsyncByteStream):
    """A body that raises an error when it exceeds the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                raise _ResponseTooLarge(f"the response has more than {MAX_MESSAGE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Stop reading."""
        await self._stream.aclose()
