"""The record of a turn's calls, with what belongs together written together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolgate.agent.handoff import SessionHandoff
from toolgate.errors import ToolgateError
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.fast import trusted
from toolgate.protocol.record import CallRecord
from toolgate.sessions import Lease, Message, SessionStore

Entry = Message | CallRecord


class TurnRecorder:
    """Holds a decision back until its call starts, and an end until its tool message is written.

    Nothing is lost by it: a call's start is durable before it runs, and its end is told to nobody before it is.
    """

    def __init__(
        self, sessions: SessionStore, lease: Lease, turn_id: str, handoff: SessionHandoff | None = None
    ) -> None:
        """With `handoff`, a shell that a call has changed is stored together with the call's end."""
        self._sessions = sessions
        self._handoff = handoff
        self._lease = lease
        self._turn_id = turn_id
        self._held: dict[str, list[CallRecord]] = {}
        self.failed: ToolgateError | None = None
        """Why something could not be written."""
        self.unstored: list[Entry] = []
        """How calls ended whose end could not be written."""

    async def record(self, record: CallRecord) -> None:
        """Keep one record, durably if it is the start of a call."""
        held = self._held.setdefault(record.call_id, [])
        held.append(record)
        if record.kind == "started":  # the end of another call with that id stays until its message is written
            self._held[record.call_id] = [one for one in held if one.kind == "finished"]
            try:
                await self._write([one for one in held if one.kind != "finished"])
            except ToolgateError as error:
                self.failed = error
                raise

    async def close(self, answers: Sequence[tuple[ToolCall, ToolResult, str]]) -> None:
        """Write how calls ended, each with the output that is its tool message, in one transaction."""
        entries: list[Entry] = []
        for call, result, output in answers:
            *before, ended = self._taken(call)
            entries += [*before, ended.model_copy(update={"payload": _ending(call, result, ended), **_named(call)})]
            entries.append(_tool_message(call, output))
        if self.unstored:  # these come after the ones that could not be written
            self.unstored += entries
            return
        carried = None if self._handoff is None else self._handoff.of_shell()
        try:
            if self._handoff is None or carried is None:
                await self._write(entries)
            else:
                await self._sessions.append(self._lease, entries, turn_id=self._turn_id, carried=carried)
                self._handoff.kept(carried)
        except ToolgateError:
            self.unstored += entries
            raise

    def _taken(self, call: ToolCall) -> list[CallRecord]:
        """What is held about a call, up to its end; a provider may have used its id for others, too."""
        held = self._held.pop(call.id, [])
        for place, record in enumerate(held, 1):
            if record.kind == "finished":
                if held[place:]:
                    self._held[call.id] = held[place:]
                return held[:place]
        return [*held, CallRecord(kind="finished", session_id=self._lease.session_id, **_named(call))]

    async def _write(self, entries: list[Entry]) -> None:
        await self._sessions.append(self._lease, entries, turn_id=self._turn_id)


def _named(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "tool_name": call.name}


def _tool_message(call: ToolCall, output: str) -> Message:
    return trusted(Message, {"role": "tool", "content": output, "tool_calls": (), "tool_call_id": call.id})


def _ending(call: ToolCall, result: ToolResult, ended: CallRecord) -> dict[str, Any]:
    """How a call ended, for whoever shows it: everything but the output, which is the tool message."""
    response = result.response
    payload: dict[str, Any] = {
        "status": response.status.value,
        "code": None if response.error is None else response.error.code.value,
        "text": response.text,
        "message": result.message,
        "data": response.data,
        "extras": result.extras,
        "time_ms": response.stats.get("time_ms", 0),
    }
    if ended.payload.get("uncertain") is True:
        payload["uncertain"] = True
    if ended.tool_name != call.name:
        payload["ran"] = ended.tool_name
    if response.error is not None and response.error.code is ErrorCode.MODE_DENIED:
        payload["denied"] = response.data.get("routed", response.data)
    return payload
