"""The methods for subscriptions: a client watches a session, beginning after an event that it names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolgate.errors import StoreError
from toolgate.gateway.projection import EncodedFrame, plain_frame, response
from toolgate.gateway.refused import RequestRefused
from toolgate.log import logger

if TYPE_CHECKING:
    from toolgate.gateway.methods import Methods
    from toolgate.gateway.watcher import Watcher
    from toolgate.protocol.requests import Request, SessionSubscribe, SessionUnsubscribe

_MAX_WATCHED = 256
"""Maximum number of sessions that one client watches."""
_RETRY_SECONDS = 0.5
"""Seconds before the log is read again after a failure."""


class SubscriptionMethods:
    """The subscriptions of one connection."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        self._service = methods.service
        self._outbox = methods.outbox
        self.watchers: dict[str, Watcher] = {}
        """The subscriptions, by session."""
        self._retrying: dict[Watcher, asyncio.Task[None]] = {}
        """Subscriptions whose log could not be read yet."""
        self.by_name: dict[str, Callable[[Request, Any], Awaitable[dict[str, Any] | None]]] = {
            "session.subscribe": self._subscribe,
            "session.unsubscribe": self._unsubscribe,
        }

    def close(self) -> None:
        """End all subscriptions."""
        for session_id in list(self.watchers):
            self._end(session_id)

    def put_after_replay(self, session_id: str, frames: list[EncodedFrame]) -> None:
        """Send frames to a subscribed client, after the events that it has missed."""
        watcher = self.watchers[session_id]
        retrying = self._retrying.get(watcher)
        if retrying is not None:
            retrying.add_done_callback(lambda _: _put(watcher, frames))
        else:
            _put(watcher, frames)

    async def _subscribe(self, request: Request, params: SessionSubscribe) -> None:
        session = await self._methods.owned(params.session_id)
        if session.id not in self.watchers and len(self.watchers) >= _MAX_WATCHED:
            raise RequestRefused(
                "INVALID_PARAMS", f"A client watches at most {_MAX_WATCHED} sessions; unsubscribe from one."
            )
        last = await self._service.sessions.last_seq(session.id)
        watcher = self._service.watcher(session.id, self._outbox, min(params.after_seq, last), params)
        approvals = await self._unreplayed_approvals(watcher, min(params.after_seq, last))
        self._end(session.id)
        self.watchers[session.id] = watcher
        self._methods.leave_turns(session.id)
        self._outbox.put(response(request.id, {"session_id": session.id, "mode": session.mode.value, "seq": last}))
        _put(watcher, approvals)
        await self._join(watcher)

    async def _unsubscribe(self, _request: Request, params: SessionUnsubscribe) -> dict[str, Any]:
        self._end(params.session_id)
        return {"session_id": params.session_id, "subscribed": False}

    def _end(self, session_id: str) -> None:
        """End the subscription to a session, if there is one."""
        watcher = self.watchers.pop(session_id, None)
        if watcher is None:
            return
        if watcher in self._retrying:
            self._retrying[watcher].cancel()
        self._service.channels.leave(watcher)

    async def _join(self, watcher: Watcher) -> None:
        """Add a watcher. The client was told that it is subscribed, so a failure is retried, in a task of its own."""
        try:
            await self._service.channels.of(watcher.session_id).join(watcher)
        except StoreError as error:
            _log_failure(watcher, error)
            retrying = asyncio.get_running_loop().create_task(self._retry(watcher), name="toolgate-subscription")
            self._retrying[watcher] = retrying
            retrying.add_done_callback(lambda _: self._retrying.pop(watcher))

    async def _retry(self, watcher: Watcher) -> None:
        """Add a watcher as soon as the log can be read."""
        while not watcher.outbox.closed:
            await asyncio.sleep(_RETRY_SECONDS)
            try:
                await self._methods.owned(watcher.session_id)
                await self._service.channels.of(watcher.session_id).join(watcher)
                return
            except RequestRefused:  # the session was deleted meanwhile
                watcher.deleted()
                return
            except Exception as error:  # noqa: BLE001 - after any failure the watcher must still get the next events
                _log_failure(watcher, error)

    async def _unreplayed_approvals(self, watcher: Watcher, after_seq: int) -> list[EncodedFrame]:
        """Return the pending approval requests that would not be replayed."""
        sessions = self._service.sessions
        pending = {row.id: row.turn_id for row in await sessions.pending_approvals(watcher.session_id)}
        frames: list[EncodedFrame] = []
        if not pending or not after_seq:
            return frames
        for event in await self._service.pending_events(watcher.session_id, set(pending), after_seq):
            turn = await sessions.turn(event.turn_id or "")
            key = None if turn is None else turn.request_id
            id_json = self._service.frame_id(watcher.session_id, key, event.turn_id)
            frame = plain_frame(event, watcher.session_id, id_json)
            if frame is not None:
                frames.append(frame)
        return frames


def _put(watcher: Watcher, frames: list[EncodedFrame]) -> None:
    for frame in frames:
        watcher.put(frame)


def _log_failure(watcher: Watcher, error: Exception) -> None:
    logger("gateway").warning("log_not_read", session_id=watcher.session_id, error=type(error).__name__)
