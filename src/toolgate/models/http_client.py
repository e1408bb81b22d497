"""`HttpClient`: sends requests to one model server over HTTP/1.1, and keeps connections for the next request.

It covers a plain `http://` or `https://` address that is reached directly. Proxies, other credentials than a key and
everything else are left to the provider's SDK (`SdkConnection`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from toolgate.models.connection import (
    MAX_ENCODED_ERROR_BYTES,
    MAX_ERROR_BYTES,
    Answer,
    ConnectionFailed,
    ServerRefused,
    error_message,
)
from toolgate.protocol.jsontext import dump
from toolgate.web.http1 import BadAnswerError, read_head, read_pieces

_MAX_REDIRECTS: Final = 5
_MAX_IDLE: Final = 100
_IDLE_SECONDS: Final = 5.0
"""Seconds that an unused connection is kept. Many servers close theirs after five."""
_BUFFER: Final = 1 << 16
_PORTS: Final = {"http": 80, "https": 443}
_PROXIES: Final = tuple(name for word in ("http_proxy", "https_proxy", "all_proxy") for name in (word, word.upper()))
_OWN_STORES: Final = ("darwin", "win32")
"""Systems with certificates and proxies of their own, which the SDKs' HTTP client reads."""
_BROKEN: Final = (OSError, EOFError, BadAnswerError, asyncio.LimitOverrunError, ValueError)
"""What reading and writing raise if the connection breaks or the server does not speak HTTP."""


def is_plain(address: str) -> bool:
    """Whether this client can reach the address: no user name, no query, and nothing but ASCII."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    usual = address.isascii() and address.isprintable() and " " not in address
    return bool(usual and parts.scheme in _PORTS and parts.hostname and port != 0 and not set(address) & set("@?#\\%["))


def is_reached_directly(address: str, *, local: bool = False) -> bool:
    """Whether this client can be used for an address. For a `local` one, proxies do not count."""
    through_others = sys.platform in _OWN_STORES or any(os.environ.get(name) for name in _PROXIES)
    return is_plain(address) and (local or not through_others)


class _Connection:
    """One connection to a server."""

    def __init__(self, origin: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.origin = origin
        self.reader = reader
        self.writer = writer
        self.loop = asyncio.get_running_loop()
        self.since = 0.0
        """When it became idle; 0 while a request is answered."""

    def usable(self, origin: str) -> bool:
        """Whether a request to this origin can be sent on it: bytes that came unasked would pass for its answer."""
        fresh = self.loop.time() - self.since < _IDLE_SECONDS
        unasked = self.reader._buffer  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio shows it nowhere else
        silent = not unasked and not self.reader.at_eof()
        return self.origin == origin and fresh and silent and not self.writer.is_closing()

    def close(self) -> None:
        """Hang up without waiting for the server."""
        if not self.loop.is_closed():
            self.writer.transport.abort()


class HttpClient:
    """Sends to the paths below one address, with the same headers every time."""

    def __init__(self, address: str, headers: Mapping[str, str], *, timeout: float) -> None:
        """`timeout` is the longest time without a byte, in seconds. `headers` hold the key.

        Raises `ValueError` for a header with anything but printable ASCII: a line break would begin another header.
        """
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise ValueError("a header has other characters than printable ASCII")
        self.address = address.rstrip("/")
        self._headers = headers
        self._timeout = timeout
        self._idle: list[_Connection] = []
        self._context: ssl.SSLContext | None = None
        self._context_lock = threading.Lock()

    def warm(self) -> None:
        """Load the certificates if they will be needed."""
        if self.address.startswith("https:"):
            self._tls()

    async def close(self) -> None:
        """Close the connections that wait for a request."""
        while self._idle:
            self._idle.pop().close()
        await asyncio.sleep(0)  # a transport that was aborted ends in the next iteration of the event loop

    async def get(self, path: str, limit: int) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body, of which at most one byte more than `limit` is read. Follows no redirect."""
        connection, status, found = await self._exchange("GET", self.address + path, self._headers, b"")
        body = bytearray()
        try:
            async with contextlib.aclosing(self._pieces(connection, found)) as pieces:
                async for piece in pieces:
                    body += piece[: limit + 1 - len(body)]
                    if len(body) > limit:
                        break
        finally:
            connection.close()
        return status, found, bytes(body)

    @contextlib.asynccontextmanager
    async def post(self, path: str, body: dict[str, Any]) -> AsyncIterator[Answer]:
        """Send a request; yield the headers of the answer and its body in pieces."""
        url, headers = self.address + path, dict(self._headers)
        data = dump(body).encode()
        for _ in range(_MAX_REDIRECTS):
            connection, status, found = await self._exchange("POST", url, headers, data)
            reusable = False
            try:
                if status in (307, 308) and "location" in found:
                    url, headers = _redirected(url, found["location"], headers)
                    continue
                if status >= 300:
                    raise await self._refusal(connection, status, found)
                async with contextlib.aclosing(self._pieces(connection, found)) as pieces:
                    yield found, pieces
                reusable = connection.since > 0
                return
            finally:
                if reusable and len(self._idle) < _MAX_IDLE:
                    self._idle.append(connection)
                else:
                    connection.close()
        raise ServerRefused(status, f"more than {_MAX_REDIRECTS} redirects", {}, "")

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[_Connection, int, Mapping[str, str]]:
        """Send one request; return its connection with the status and the headers of the answer."""
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"host": parts.netloc, **({"content-length": str(len(body))} if body else {}), **headers}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        with _as_connection_failed():
            async with asyncio.timeout(self._timeout):
                connection = self._idle_connection(f"{parts.scheme}://{parts.netloc}") or await self._connect(parts)
            try:
                async with asyncio.timeout(self._timeout):
                    connection.writer.write("\r\n".join(lines).encode("latin-1") + body)
                    await connection.writer.drain()
                async with asyncio.timeout(self._timeout):
                    return connection, *await read_head(connection.reader)
            except BaseException:
                connection.close()
                raise

    def _idle_connection(self, origin: str) -> _Connection | None:
        """Return an open connection of this event loop to the origin. Others that are found on the way are closed."""
        while self._idle:
            connection = self._idle.pop()
            if connection.loop is asyncio.get_running_loop() and connection.usable(origin):
                connection.since = 0.0
                return connection
            connection.close()
        return None

    async def _connect(self, parts: Any) -> _Connection:
        encrypted = parts.scheme == "https"
        context = await asyncio.to_thread(self._tls) if encrypted else None
        options: dict[str, Any] = {"ssl": context, "limit": _BUFFER}
        host = parts.hostname or ""
        is_name = ":" not in host and not host.replace(".", "").isdigit()  # a name may have several addresses
        if is_name and isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):  # uvloop does not know it
            options["happy_eyeballs_delay"] = 0.25
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or _PORTS[parts.scheme], **options)
        return _Connection(f"{parts.scheme}://{parts.netloc}", reader, writer)

    def _tls(self) -> ssl.SSLContext:
        with self._context_lock:
            if self._context is None:
                self._context = _trusted()
            return self._context

    async def _pieces(self, connection: _Connection, headers: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Yield the body. Afterwards `since` says that the connection can be used again."""
        chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        with _as_connection_failed():
            async with contextlib.aclosing(read_pieces(connection.reader, headers)) as pieces:
                while True:
                    async with asyncio.timeout(self._timeout):
                        piece = await anext(pieces, None)
                    if piece is None:
                        break
                    yield piece
            if chunked:
                async with asyncio.timeout(self._timeout):
                    while (await connection.reader.readuntil(b"\n")).strip():
                        pass  # trailers
        ends = chunked or "content-length" in headers
        if ends and "close" not in headers.get("connection", "").lower():
            connection.since = connection.loop.time()

    async def _refusal(self, connection: _Connection, status: int, headers: Mapping[str, str]) -> ServerRefused:
        """Read the body of an error response and return the error."""
        encoded = headers.get("content-encoding", "identity") != "identity"
        limit = MAX_ENCODED_ERROR_BYTES if encoded else MAX_ERROR_BYTES
        body = bytearray()
        with contextlib.suppress(ConnectionFailed):
            async with contextlib.aclosing(self._pieces(connection, headers)) as pieces:
                async for piece in pieces:
                    body += piece[: limit - len(body)]
                    if len(body) >= limit:
                        break
        text = "" if encoded else body.decode("utf-8", "replace")
        return ServerRefused(status, error_message(text, status), headers, text)


def _trusted() -> ssl.SSLContext:
    """Return a context with the system's certificates, also if Python looks for them where this system has none."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509"]:
        with contextlib.suppress(ImportError):  # without it, no certificate is trusted
            from httpx2 import create_ssl_context

            return create_ssl_context()
    return context


def _redirected(url: str, location: str, headers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return where a redirect leads, and the headers for it. Another server does not get the key."""
    target = urljoin(url, location.strip())
    if not is_plain(target):
        raise ConnectionFailed
    before, after = _origin(url), _origin(target)
    if after == before or (before == ("http", after[1], 80) and after == ("https", after[1], 443)):
        return target, dict(headers)
    return target, {name: value for name, value in headers.items() if name not in ("authorization", "x-api-key")}


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


@contextlib.contextmanager
def _as_connection_failed() -> Iterator[None]:
    """Raise `ConnectionFailed` in place of every error that breaks a connection."""
    try:
        yield
    except TimeoutError as error:
        raise ConnectionFailed(timed_out=True) from error
    except _BROKEN as error:
        raise ConnectionFailed from error
