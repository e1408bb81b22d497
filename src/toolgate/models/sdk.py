"""Base class of the clients of providers that have an SDK: connecting, reading, and error mapping."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, ClassVar, Final

from toolgate.errors import ModelError
from toolgate.models import errors
from toolgate.models.connection import ConnectionFailed, ModelConnection, ServerRefused
from toolgate.models.deadlines import ResponseDeadlines
from toolgate.models.http_client import HttpClient, is_reached_directly
from toolgate.models.server_sent_events import EventDecoder, EventTooLarge
from toolgate.models.vision import name_implies_vision
from toolgate.text.redaction import without_secret

TIMEOUT: Final = 120.0
"""Seconds without a byte after which the server counts as stopped."""
TOTAL_TIMEOUT: Final = 3600.0
"""Seconds after which a response must be complete."""
MAX_RESPONSE_BYTES: Final = 256 * 1024 * 1024
"""Maximum bytes of one response on the wire: a megabyte of text in tiny pieces is a hundred times as long."""
KEEP_ALIVE_FACTOR: Final = 3
"""A response may consist of keep-alives for this many times `TIMEOUT`: some models think for minutes."""
_MAX_COUNT: Final = 2**40
END: Final[dict[str, Any]] = {"type": "end"}
"""Yielded in place of the event that ends a response."""
_HEADERS: Final = {
    "user-agent": "toolgate",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",
    "content-type": "application/json",
}
_DRAIN_SECONDS = 0.1
"""Seconds to wait for the rest of a response, so that its connection can be reused."""


class SdkModel:
    """A client of a provider that has an SDK. It speaks HTTP itself where a key and an address are all that is needed.

    Otherwise it imports the SDK on first use, in a thread.
    """

    package: ClassVar[str]
    """The SDK's package, which is also the name of Toolgate's extra."""
    client: ClassVar[str]
    """The name of the SDK's asynchronous client class."""
    sdk_error: ClassVar[str]
    """The name of the exception class that the SDK raises without a key."""
    sdk_variables: ClassVar[tuple[str, ...]]
    """Environment variables that only the SDK understands. If one is set, the SDK is used."""
    key_name: ClassVar[str]
    """The environment variable with the API key."""
    address_name: ClassVar[str]
    """The environment variable with the server's address."""
    server: ClassVar[str]
    """The address of the provider's own server."""
    path: ClassVar[str]
    """Where requests go, below the address."""

    def __init__(
        self, model: str, *, api_key: str | None, base_url: str | None, timeout: float, total_timeout: float
    ) -> None:
        """`timeout` is the longest silence and `total_timeout` the longest response, both in seconds."""
        self.name = model
        self.context_tokens: int | None = None
        """Tokens that the model takes, if its server has said so."""
        self.vision = name_implies_vision(model)
        """Whether pictures are sent to it; `ModelSource` also asks the settings and the server's list."""
        self._silence = KEEP_ALIVE_FACTOR * timeout
        self._total = total_timeout
        self._timeout = timeout
        options = {"api_key": api_key, "base_url": base_url, "timeout": timeout}
        self._options = {key: value for key, value in options.items() if value is not None}
        self._connection: ModelConnection | None = None
        self._connecting = threading.Lock()

    def warm(self) -> None:
        """Prepare the connection in the background, so that the first request waits less."""
        if self._connection is None and self._direct() is not None and not self._encrypted():
            return  # nothing takes time
        threading.Thread(target=self._warm, name="toolgate-sdk", daemon=True).start()

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _events(
        self, arguments: dict[str, Any], deadlines: ResponseDeadlines
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of the response as objects. Errors of the network and the server become `ModelError`."""
        connection = self._connection or await self._connect()
        try:
            async with contextlib.AsyncExitStack() as stack:
                answer = connection.post(self.path, arguments)
                headers, pieces = await deadlines.wait(stack.enter_async_context(answer))
                async for event in self._read(headers, pieces, deadlines):
                    yield event
        except ServerRefused as error:
            body = self._without_key(error.body)
            raise self._status_error(error.status, error.message, error.headers, body=body) from None
        except ConnectionFailed as error:
            raise errors.unreachable(connection.address, timed_out=error.timed_out) from error
        except TimeoutError as error:
            raise errors.response_timeout(connection.address, str(error)) from error

    async def _read(
        self, headers: Mapping[str, str], pieces: AsyncIterator[bytes], deadlines: ResponseDeadlines
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of a response. The last one is `END` if the response is complete."""
        if headers.get("content-encoding", "identity") != "identity":
            raise errors.invalid_response("a compressed response, which was not requested")
        if "html" in headers.get("content-type", ""):
            raise errors.not_an_api(self._address)
        decoder, size = EventDecoder(), 0
        while (piece := await deadlines.wait(anext(pieces, None))) is not None:
            size += len(piece)
            if size > MAX_RESPONSE_BYTES:
                raise errors.response_too_large(MAX_RESPONSE_BYTES)
            try:
                for name, data in decoder.feed(piece):
                    if self._is_end(name, data):
                        await _drain(pieces)
                        yield END
                        return
                    if (event := self._parse_event(name, data)) is not None:
                        yield event
                    await deadlines.give_way()
            except (ValueError, RecursionError) as error:
                raise errors.invalid_response(_describe_error(error)) from error
            await deadlines.give_way()

    @property
    def _address(self) -> str:
        """The server's address, for messages."""
        return "" if self._connection is None else self._connection.address

    def _status_error(self, status: int, said: str, headers: Mapping[str, str], body: str = "") -> ModelError:
        """Return the error for an HTTP status of this server."""
        names = {"key_name": self.key_name, "address": self._address, "model": self.name}
        return errors.from_status(status, self._without_key(said), headers, body=body, **names)

    def _parse_event(self, name: str, data: str) -> dict[str, Any] | None:
        """Parse one event; None if it has no content. Raises `ModelError` for an error event."""
        raise NotImplementedError

    def _is_end(self, name: str, data: str) -> bool:
        """Whether this event ends the response."""
        raise NotImplementedError

    def _headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        raise NotImplementedError

    def _warm(self) -> None:
        try:
            self._open().warm()
        except Exception:  # noqa: BLE001 - the first request will report the same error
            return

    async def _connect(self) -> ModelConnection:
        """Make the connection. Importing an SDK takes long, so it happens in a thread."""
        return self._open() if self._direct() is not None else await asyncio.to_thread(self._open)

    def _open(self) -> ModelConnection:
        with self._connecting:
            if self._connection is None:
                direct = self._direct()
                if direct is not None:
                    self._connection = HttpClient(self._server(), direct, timeout=self._timeout)
                else:
                    from toolgate.models.sdk_connection import SdkConnection

                    self._connection = SdkConnection(
                        self.package, self.client, self.sdk_error, self._options, self.key_name
                    )
            return self._connection

    def _key(self) -> str:
        return str(self._options.get("api_key") or os.environ.get(self.key_name) or "")

    def _without_key(self, text: str) -> str:
        """The text with the key masked: servers repeat a key that they refuse, and what they say is stored."""
        return without_secret(text, self._key())

    def _direct(self) -> dict[str, str] | None:
        """Return the headers of a request that needs no SDK; None if one is needed."""
        key = self._key()
        needed = any(os.environ.get(name) for name in self.sdk_variables)
        plain = key.isascii() and key.isprintable() and is_reached_directly(self._server())
        if not key or needed or not plain:
            return None
        return {**_HEADERS, **self._headers(key)}

    def _server(self) -> str:
        return str(self._options.get("base_url") or os.environ.get(self.address_name) or self.server)

    def _encrypted(self) -> bool:
        return self._server().startswith("https:")

    def _deadlines(self) -> ResponseDeadlines:
        """Create the deadlines for a request that starts now."""
        return ResponseDeadlines(silence=self._silence, total=self._total)


def parse_object(data: str) -> dict[str, Any]:
    """Parse the data of an event. A value that is not an object becomes an empty one."""
    value = json.loads(data)
    return value if isinstance(value, dict) else {}


def object_of(value: Any, key: str) -> dict[str, Any]:
    """Return the object under the key, or an empty one if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def text_of(value: dict[str, Any], key: str) -> str:
    """Return the text under the key, or an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def number_of(value: dict[str, Any], key: str) -> int:
    """Return the count under the key, or 0 if there is no plausible one."""
    found = value.get(key)
    return found if isinstance(found, int) and 0 <= found < _MAX_COUNT else 0


def _describe_error(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "bytes that are not UTF-8"
    if isinstance(error, EventTooLarge):
        return f"something that is not a model's response: {error}"
    return "an event that is not JSON"


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the rest of a finished response if it arrives at once."""
    with contextlib.suppress(TimeoutError, ConnectionFailed):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                await asyncio.sleep(0)
