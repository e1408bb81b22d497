"""Adapts lines on descriptors to the streams that the SDK uses."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from toolgate.adapters.line_buffer import LineTooLong
from toolgate.adapters.mcp_server.descriptors import GRACE, LineReader, LineWriter
from toolgate.adapters.mcp_server.handshake import ACKNOWLEDGED
from toolgate.adapters.mcp_server.lines import error_response, parse_message


class Outgoing:
    """Messages to the client. What was answered or acknowledged before is not sent a second time."""

    def __init__(
        self, writer: LineWriter, answered: Iterable[str | int] = (), acknowledged: Iterable[str | int] = ()
    ) -> None:
        self._writer = writer
        self._answered = set(answered)
        self._acknowledged = set(acknowledged)
        self.open: set[Any] = set()
        """Ids of requests without a response so far."""
        self._settled = asyncio.Event()
        """Set when a request was answered."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Do nothing: the descriptor belongs to the caller."""

    async def aclose(self) -> None:
        """Do nothing: the descriptor belongs to the caller."""

    @property
    def is_broken(self) -> bool:
        """Whether the client has stopped reading."""
        return self._writer.is_broken

    async def send(self, item: SessionMessage) -> None:
        """Write one message and wait while the client is slow. Raises `BrokenResourceError` if nobody reads."""
        message = item.message
        answer_to = message.id if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else None
        if answer_to is not None and answer_to in self._answered:
            self._answered.discard(answer_to)
        elif not self._was_acknowledged(message):
            self._writer.put(message.model_dump_json(by_alias=True, exclude_unset=True))
        if answer_to is not None:
            self.settle(answer_to)
        await self._writer.drained()
        if self.is_broken:
            raise anyio.BrokenResourceError

    def _was_acknowledged(self, message: types.JSONRPCMessage) -> bool:
        """Whether this acknowledges a subscription that was acknowledged before."""
        if not self._acknowledged or not isinstance(message, types.JSONRPCNotification):
            return False
        meta = (message.params or {}).get("_meta", {})
        subscription = meta.get(SUBSCRIPTION_ID_META_KEY) if message.method == ACKNOWLEDGED else None
        if subscription not in self._acknowledged:
            return False
        self._acknowledged.discard(subscription)
        return True

    def settle(self, request_id: Any) -> None:
        """Record that a request was answered."""
        with contextlib.suppress(TypeError):
            self.open.discard(request_id)
        self._settled.set()

    async def wait_for_open(self) -> None:
        """Wait for open requests after the end of the input, while the client still reads."""
        with anyio.move_on_after(GRACE):
            while (self.open or not self._writer.is_empty) and self._writer.has_reader():
                self._settled.clear()
                with anyio.move_on_after(0.05):
                    await self._settled.wait()


class Incoming:
    """Messages from the client. An invalid line is answered at once. `first` are lines that were already read."""

    def __init__(self, reader: LineReader, answers: Outgoing, first: Iterable[bytes] = ()) -> None:
        self._reader = reader
        self._answers = answers
        self._first = deque(first)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop reading."""
        self._reader.end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message. The end comes after open requests had time to finish."""
        while True:
            line = self._first.popleft() if self._first else await self._reader.next()
            if line is not None:
                message = await self._parse(line)
                if message is not None:
                    return SessionMessage(message)
            elif self._reader.has_ended or self._answers.is_broken:
                await self._answers.wait_for_open()
                raise StopAsyncIteration

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message; the SDK's protocol needs this name."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _parse(self, line: bytes | LineTooLong) -> types.JSONRPCMessage | None:
        message = None if isinstance(line, LineTooLong) else parse_message(line)
        if message is None:
            with contextlib.suppress(anyio.BrokenResourceError):  # noticed when the next line is awaited
                await self._answers.send(SessionMessage(error_response(line)))
        elif isinstance(message, types.JSONRPCRequest):
            self._answers.open.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._answers.settle((message.params or {}).get("requestId"))
        return message
