"""All sessions that have watchers in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from toolgate.gateway.channel import Channel, FrameId, RequestOf
from toolgate.gateway.projection import frame_id
from toolgate.gateway.watcher import Watcher
from toolgate.protocol.ports import EventFeed


class Channels:
    """All sessions that have watchers in this process."""

    def __init__(
        self, feed: EventFeed, request_of: RequestOf, frame_id: FrameId = lambda _, key, turn_id: frame_id(key, turn_id)
    ) -> None:
        self._feed = feed
        self._request_of = request_of
        self._frame_id = frame_id
        self._channels: dict[str, Channel] = {}

    def of(self, session_id: str) -> Channel:
        """Return the channel of a session."""
        channel = self._channels.get(session_id)
        if channel is None:
            channel = Channel(session_id, self._feed, self._request_of, self._remove, self._frame_id)
            self._channels[session_id] = channel
        return channel

    def leave(self, watcher: Watcher) -> None:
        """Remove a watcher."""
        channel = self._channels.get(watcher.session_id)
        if channel is not None:
            channel.leave(watcher)

    def deleted(self, session_id: str) -> None:
        """Tell the watchers of a session that it was deleted."""
        if (channel := self._channels.get(session_id)) is not None:
            channel.deleted()

    async def wait_until_sent(self, last_seq: Callable[[str], Awaitable[int]]) -> None:
        """Wait until all watchers have received everything that is in the log now."""
        for session_id, channel in list(self._channels.items()):
            await channel.wait_until_sent(await last_seq(session_id))

    def _remove(self, channel: Channel) -> None:
        if self._channels.get(channel.session_id) is channel:
            del self._channels[channel.session_id]

    def __len__(self) -> int:
        return len(self._channels)
