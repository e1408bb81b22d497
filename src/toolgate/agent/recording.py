"""The record of a turn's calls, with what belongs together written together."""

from __future__ import annotations

from typing import Any

from toolgate.protocol.ports import Recorder
from toolgate.protocol.record import CallRecord
from toolgate.sessions import SessionStore


class TurnRecorder:
    """Holds a decision back until its call starts, and an end until its tool message is written.

    Nothing is lost by it: a call's start is durable before it runs, and its end is told to nobody before it is.
    """

    def __init__(self, store: Recorder) -> None:
        self._store = store
        self._held: dict[str, list[CallRecord]] = {}

    async def record(self, record: CallRecord) -> None:
        """Keep one record, durably if it is the start of a call."""
        held = self._held.setdefault(record.call_id, [])
        held.append(record)
        if record.kind == "started":
            del self._held[record.call_id]
            await self._write(held)

    async def close(self, sessions: SessionStore, session_id: str, output: str, call_id: str, **more: Any) -> None:
        """Write the tool message of a call, with what is held about it."""
        await self._write(self._held.pop(call_id, []))
        await sessions.append_message(session_id, "tool", output, tool_call_id=call_id, **more)

    async def _write(self, records: list[CallRecord]) -> None:
        for record in records:
            await self._store.record(record)
