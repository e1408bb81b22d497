"""The recorder of a turn's calls: it stores related records in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolgate.agent.handoff import SessionHandoff
from toolgate.errors import ToolgateError
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.content import ImageContent
from toolgate.protocol.record import CallRecord
from toolgate.protocol.unvalidated import trusted
from toolgate.sessions import Lease, Message, SessionStore

Entry = Message | CallRecord


class TurnRecorder:
    """Holds a decision until its call starts, and the end of a call until its tool message is stored.

    Nothing is lost: the start of a call is durable before it runs, and its end is durable before it is emitted.
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
        """The error of the first record that could not be stored."""
        self.unstored: list[Entry] = []
        """The records and messages of ended calls that could not be stored."""

    async def record(self, record: CallRecord) -> None:
        """Keep one record; the start of a call is durable when this returns."""
        held = self._held.setdefault(record.call_id, [])
        held.append(record)
        if record.kind == "started":  # the end of another call with that id is held until its message is stored
            self._held[record.call_id] = [one for one in held if one.kind == "finished"]
            try:
                await self._write([one for one in held if one.kind != "finished"])
            except ToolgateError as error:
                self.failed = error
                raise

    async def close(self, answers: Sequence[tuple[ToolCall, ToolResult, str]]) -> None:
        """Store the ends of calls in one transaction, each with its tool message."""
        entries: list[Entry] = []
        for call, result, output in answers:
            *before, ended = self._taken(call)
            entries += [*before, ended.model_copy(update={"payload": _ending(call, result, ended), **_named(call)})]
            entries.append(_tool_message(call, output, result))
        if self.unstored:  # the order of entries must stay
            self.unstored += entries
            return
        images = [image for _, result, _ in answers for image in result.content]
        carried = None if self._handoff is None else self._handoff.of_shell()
        try:
            if self._handoff is None or carried is None:
                await self._write(entries, images)
            else:
                await self._sessions.append(self._lease, entries, turn_id=self._turn_id, carried=carried, images=images)
                self._handoff.kept(carried)
        except ToolgateError:
            self.unstored += entries
            raise

    def _taken(self, call: ToolCall) -> list[CallRecord]:
        """The records held for a call, up to its end. A provider may have used the id for other calls, too."""
        held = self._held.pop(call.id, [])
        for place, record in enumerate(held, 1):
            if record.kind == "finished":
                if held[place:]:
                    self._held[call.id] = held[place:]
                return held[:place]
        return [*held, CallRecord(kind="finished", session_id=self._lease.session_id, **_named(call))]

    async def _write(self, entries: list[Entry], images: Sequence[ImageContent] = ()) -> None:
        await self._sessions.append(self._lease, entries, turn_id=self._turn_id, images=images)


def _named(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "tool_name": call.name}


def _tool_message(call: ToolCall, output: str, result: ToolResult) -> Message:
    images = tuple(image.stored for image in result.content)
    fields = {"role": "tool", "content": output, "tool_calls": (), "tool_call_id": call.id, "images": images}
    return trusted(Message, fields)


def _ending(call: ToolCall, result: ToolResult, ended: CallRecord) -> dict[str, Any]:
    """The end of a call for display: everything except the output, which is in the tool message."""
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
    if result.content:
        payload["images"] = [image.stored.model_dump() for image in result.content]
    if ended.payload.get("uncertain") is True:
        payload["uncertain"] = True
    if ended.tool_name != call.name:
        payload["ran"] = ended.tool_name
    if response.error is not None and response.error.code is ErrorCode.MODE_DENIED:
        payload["denied"] = response.data.get("routed", response.data)
    return payload
