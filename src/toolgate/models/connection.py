"""What a connection to a model server is: it posts a request and yields the answer in pieces, or says what failed."""

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

    def __init__(self, status: int, said: str, headers: Mapping[str, str], body: str) -> None:
        """`said` is for a person; `body` is the whole answer, as far as it was read."""
        super().__init__(said)
        self.status = status
        self.said = said
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


def said_in(text: str, status: int) -> str:
    """What an error says, for a person: the message in its JSON, or its text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    inner = value.get("error", value) if isinstance(value, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else inner
    return (said if isinstance(said, str) else "") or text.strip() or f"Error code: {status}"
