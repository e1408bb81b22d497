"""`ModelConnection`, the interface of a connection to a model server, and the errors that it raises."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

MAX_ERROR_BYTES: Final = 64 * 1024
"""Maximum bytes read of an error response."""
MAX_ENCODED_ERROR_BYTES: Final = 4 * 1024
"""The same limit for a compressed body, which can expand a thousandfold."""

Answer = tuple[Mapping[str, str], AsyncGenerator[bytes, None]]
"""The headers of an answer, by names in lower case, and its body in pieces."""


class ConnectionFailed(Exception):
    """The server cannot be reached, the connection broke, or what arrives is not HTTP."""

    def __init__(self, *, timed_out: bool = False) -> None:
        super().__init__()
        self.timed_out = timed_out


class ServerRefused(Exception):
    """The server answered with the status of an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str], body: str) -> None:
        """`message` is for a person. `body` is the whole response, as far as it was read."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers
        self.body = body


class ModelConnection(Protocol):
    """A connection to one server. It never retries."""

    @property
    def address(self) -> str:
        """The server's address, for messages."""
        ...

    def post(self, path: str, body: dict[str, Any]) -> AbstractAsyncContextManager[Answer]:
        """Send a request. Raises `ServerRefused` and `ConnectionFailed`, the latter also while the body is read."""
        ...

    def warm(self) -> None:
        """Prepare what the first request needs. Runs in a thread."""
        ...

    async def close(self) -> None:
        """Close what is open."""
        ...


def error_message(text: str, status: int) -> str:
    """Return the message of an error response, for a person: the message in its JSON, or its text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    inner = value.get("error", value) if isinstance(value, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return (message if isinstance(message, str) else "") or text.strip() or f"Error code: {status}"
