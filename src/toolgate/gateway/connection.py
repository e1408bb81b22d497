"""One connected client: handles its requests in order, and sends it the sessions that it watches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json

from toolgate.errors import (
    MessageTooLarge,
    ModeNotEnabled,
    NoSuchMessage,
    RequestRepeated,
    SessionBusy,
    SessionFenced,
    SessionNotFound,
    ToolError,
    ToolgateError,
)
from toolgate.gateway.methods import Methods
from toolgate.gateway.outbox import Outbox
from toolgate.gateway.projection import error
from toolgate.gateway.refused import RequestRefused
from toolgate.log import logger
from toolgate.protocol.requests import METHODS, Request

if TYPE_CHECKING:
    from toolgate.gateway.access import Identity
    from toolgate.gateway.guard import Receive, Send
    from toolgate.gateway.service import Service

_MAX_ID = 200
_CODES: tuple[tuple[type[ToolgateError], str], ...] = (
    (SessionFenced, "SESSION_FENCED"),
    (SessionBusy, "SESSION_BUSY"),
    (ModeNotEnabled, "MODE_NOT_ENABLED"),
    (SessionNotFound, "INVALID_PARAMS"),
    (MessageTooLarge, "INVALID_PARAMS"),
    (NoSuchMessage, "INVALID_PARAMS"),
    (ToolError, "INVALID_PARAMS"),
    (RequestRepeated, "INVALID_PARAMS"),
    (ToolgateError, "INTERNAL_ERROR"),
)
"""Exceptions and the error codes that clients receive; the first match counts."""


class ClientConnection:
    """A socket of an authenticated client."""

    def __init__(
        self,
        service: Service,
        identity: Identity,
        receive: Receive,
        send: Send,
        hang_up: Callable[[], None] | None = None,
    ) -> None:
        """`hang_up` closes the connection without a closing handshake, if the server supports that."""
        self.service = service
        self.identity = identity
        self.outbox = Outbox(send)
        self._receive = receive
        self._methods = Methods(self)
        self._rate = float(service.settings.max_requests_per_second)
        self._allowance = 2 * self._rate
        self._allowance_updated = time.monotonic()
        self._hang_up = hang_up

    async def run(self) -> None:
        """Serve the client until either side ends the connection."""
        writing = asyncio.get_running_loop().create_task(self.outbox.run(), name="toolgate-outbox")
        try:
            while (message := await self._receive())["type"] == "websocket.receive":
                await self._limit_rate()
                if self.outbox.closed:  # the connection is being closed, so no more requests are read
                    break
                await self._handle_message(message)
        finally:
            stuck = self.outbox.sending_since is not None
            self.outbox.close(1000, "")
            self._methods.close()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            if stuck and self._hang_up is not None:
                self._hang_up()

    def abort(self) -> None:
        """Close the connection at once: a client that does not read would not receive a close frame either."""
        self.outbox.close(1011, "")
        if self._hang_up is not None:
            self._hang_up()

    async def _limit_rate(self) -> None:
        """Limit the request rate; a client that sends faster has to wait."""
        now = time.monotonic()
        self._allowance = min(2 * self._rate, self._allowance + (now - self._allowance_updated) * self._rate) - 1
        self._allowance_updated = now
        if self._allowance < 0:
            await asyncio.sleep(-self._allowance / self._rate)

    async def _handle_message(self, message: MutableMapping[str, Any]) -> None:
        text = message.get("text")
        if text is None:
            self.outbox.put(error(None, "PARSE_ERROR", "Frames are text: send JSON, not bytes."))
            return
        if len(text) > self.service.settings.max_frame_bytes:
            self.outbox.close(1009, "the frame is too large")
            return
        try:
            frame = from_json(text, allow_inf_nan=False)
        except ValueError as problem:
            self.outbox.put(error(None, "PARSE_ERROR", f"This is not JSON: {str(problem)[:200]}"))
            return
        request_id = frame.get("id") if isinstance(frame, dict) else None
        if not _is_id(request_id):
            request_id = None
        try:
            request = Request.model_validate(frame)
        except ValidationError as problem:
            only_params_invalid = request_id is not None and all(
                one["loc"][:1] == ("params",) for one in problem.errors()
            )
            code = "INVALID_PARAMS" if only_params_invalid else "PARSE_ERROR"
            self.outbox.put(error(request_id, code, f"This is not a request: {_describe(problem)}"))
            return
        if request_id is None:
            self.outbox.put(error(None, "PARSE_ERROR", f"'id' must be text of 1 to {_MAX_ID} characters or a number."))
            return
        await self._handle(request)

    async def _handle(self, request: Request) -> None:
        wanted = METHODS.get(request.method)
        if wanted is None:
            known = ", ".join(METHODS)
            message = f"There is no method {request.method!r}. The methods are: {known}."
            self.outbox.put(error(request.id, "METHOD_NOT_FOUND", message))
            return
        self.service.counts.requests[request.method] += 1
        try:
            params = wanted.model_validate(request.params)
            await self._methods.call(request, params)
        except ValidationError as problem:
            self.outbox.put(error(request.id, "INVALID_PARAMS", _describe(problem)))
        except RequestRefused as refusal:
            self.outbox.put(error(request.id, refusal.code, str(refusal)))
        except ToolgateError as problem:
            code = next(code for kind, code in _CODES if isinstance(problem, kind))
            self.outbox.put(error(request.id, code, str(problem)))
        except Exception as problem:  # noqa: BLE001 - a failed request must not end the connection
            logger("gateway").error(
                "request_failed", method=request.method, error=type(problem).__name__, exc_info=problem
            )
            message = f"The request failed ({type(problem).__name__}); see the gateway's log."
            self.outbox.put(error(request.id, "INTERNAL_ERROR", message))


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _MAX_ID
    return type(value) is int and abs(value) < 2**63


def _describe(problem: ValidationError) -> str:
    """Describe the errors, one per key, without the values that were sent."""
    found = problem.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'frame'}: {item['msg']}"[:200] for item in found[:5])
