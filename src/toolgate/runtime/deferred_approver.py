"""`DeferredApprover`: keeps approval requests open until somebody answers them, for example in a web application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from toolgate.log import logger
from toolgate.protocol.approval import Approval, ApprovalRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """An open request, and the loop that waits for its answer."""

    request: ApprovalRequest
    answer: asyncio.Future[Approval]
    loop: asyncio.AbstractEventLoop


class DeferredApprover:
    """Keeps requests until they are answered: `pending` lists them, and `answer` answers one.

    The first answer counts. A call that is cancelled takes its request back. `answer` may be called from any thread.
    """

    def __init__(
        self, *, timeout: float | None = None, on_request: Callable[[ApprovalRequest], object] | None = None
    ) -> None:
        """`timeout`: seconds after which a request counts as answered with no; None: it waits.

        `on_request` is called with each new request, in the event loop of the call; it must return at once.
        """
        if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
            raise ValueError(f"timeout must be seconds above 0, or None to wait for ever, not {timeout!r}")
        self._timeout = timeout
        self._on_request = on_request
        self._open: dict[str, _Open] = {}

    @property
    def pending(self) -> tuple[ApprovalRequest, ...]:
        """The open requests, the oldest first."""
        return tuple(entry.request for entry in list(self._open.values()))

    def get(self, request_id: str) -> ApprovalRequest | None:
        """Return the open request of that id, or None."""
        entry = self._open.get(request_id)
        return None if entry is None else entry.request

    def answer(self, request_id: str, answer: Approval | bool, message: str = "") -> None:
        """Answer an open request. `message` goes with a bare `True` or `False`.

        Raises `LookupError` if it is not open: it was answered, taken back or too late, or there never was one.
        """
        if isinstance(answer, bool):
            answer = Approval(allowed=answer, message=message)
        elif not isinstance(answer, Approval):
            raise TypeError(f"answer must be an Approval, True or False, not {answer!r:.80}")
        entry = self._open.pop(request_id, None)
        if entry is None:
            raise LookupError(f"no approval request {request_id!r:.80} is open: look at `pending` again")
        entry.loop.call_soon_threadsafe(_settle, entry.answer, answer)

    async def decide(self, request: ApprovalRequest) -> Approval:
        """Keep the request until it is answered, taken back or too late."""
        loop = asyncio.get_running_loop()
        entry = _Open(request=request, answer=loop.create_future(), loop=loop)
        self._open[request.id] = entry
        try:
            self._tell(request)
            async with asyncio.timeout(self._timeout):
                return await entry.answer
        except TimeoutError:
            return Approval(allowed=False, message="nobody answered in time")
        finally:
            self._open.pop(request.id, None)

    def _tell(self, request: ApprovalRequest) -> None:
        if self._on_request is None:
            return
        try:
            self._on_request(request)
        except Exception:  # noqa: BLE001 - the request is open, and can be answered without it
            logger("permission").error("on_request_failed", exc_info=True)


def _settle(waiting: asyncio.Future[Approval], answer: Approval) -> None:
    if not waiting.done():
        waiting.set_result(answer)
