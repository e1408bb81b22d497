"""The streamable HTTP transport: the SDK's own, behind a client that limits what it takes in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from toolgate.adapters.mcp_client.config import ServerConfig
from toolgate.adapters.mcp_client.limits import LARGEST_MESSAGE, Budget, Slowed

if TYPE_CHECKING:
    from types import TracebackType

_CONNECT = 10.0
_SESSION = "mcp-session-id"


class HttpTransport:
    """Calls the server at its address. Used once."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._status = ""
        self.lost = asyncio.Event()
        """Set when the server has forgotten this session."""

    @property
    def trouble(self) -> str:
        """The last refusal that came as a status."""
        return self._status

    @property
    def noise(self) -> str:
        """Nothing can come between messages here."""
        return ""

    @property
    def complaints(self) -> str:
        """Nothing comes beside the messages here."""
        return ""

    async def __aenter__(self) -> Any:
        headers = {name: value.get_secret_value() for name, value in self._config.headers.items()}
        client = httpx2.AsyncClient(
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT, read=None),
            transport=_Limited(httpx2.AsyncHTTPTransport()),
            event_hooks={"response": [self._note]},
            trust_env=False,
        )
        await self._stack.enter_async_context(client)
        messages, answers = await self._stack.enter_async_context(
            streamable_http_client(self._config.url, http_client=client, max_sse_event_size=LARGEST_MESSAGE)
        )
        return Slowed(messages, Budget()), answers

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _note(self, response: httpx2.Response) -> None:
        """See what the SDK does not tell: why a request was refused, and that a session is gone."""
        if response.status_code < 400 or response.request.method != "POST":
            return
        self._status = f"its server answered {response.status_code}"
        with suppress(ValueError):  # a number that nobody has given a meaning
            self._status += f" {HTTPStatus(response.status_code).phrase}"
        if response.status_code == 404 and _SESSION in response.request.headers:
            self._status = "its server has ended the session"
            self.lost.set()


class _TooLarge(httpx2.StreamError):
    """More than one message may hold; the SDK answers the call with it."""


class _Limited(httpx2.AsyncBaseTransport):
    """A transport whose answers end: what is not a stream of events may not be larger than a message."""

    def __init__(self, transport: httpx2.AsyncHTTPTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, and count what comes back."""
        response = await self._transport.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()  # a few bytes could stand for any number of them
            return httpx2.Response(502, request=request)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Counted(response.stream)
        return response

    async def aclose(self) -> None:
        """Close what is open."""
        await self._transport.aclose()


class _Counted(httpx2.AsyncByteStream):
    """A body that may not go on for ever."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST_MESSAGE:
                raise _TooLarge(f"the answer has more than {LARGEST_MESSAGE} bytes")
            yield chunk

    async def aclose(self) -> None:
        """Stop reading."""
        await self._stream.aclose()
