"""The recorder of a turn's calls: it stores related records in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from toolgate.agent.handoff import SessionHandoff
from toolgate.errors import SessionBusy, StoreError, ToolgateError
from toolgate.protocol.calls import ToolCall, ToolResult
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.record import CallRecord
from toolgate.protocol.unvalidated import trusted
from toolgate.sessions import Lease, Message, SessionStore, Usage

Entry = Message | CallRecord


class TurnRecorder:
    """Holds a message until its first call starts, a decision until its call starts, and an end until its tool message.

    Nothing is lost: the message and the start of a call are durable before it runs and before it is announced, and its
    end is durable before it is emitted.
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
        self._message: tuple[Message, Usage] | None = None
        """The model's message, if it is not stored yet."""
        self._joining: list[Entry] | None = None
        """Entries that are stored together with the message; more can be added until the write begins."""
        self._storing: asyncio.Task[None] | None = None
        """The last write with a message; it is never interrupted, so whether the message is stored is always known."""
        self._announcements: list[Callable[[], None]] = []
        self.failed: ToolgateError | None = None
        """The error of the first record that could not be stored."""
        self.unstored: list[Entry] = []
        """What could not be stored: messages that were shown, and the records and messages of ended calls."""

    async def message(self, text: str, calls: Sequence[ToolCall], usage: Usage, *, hold: bool = False) -> None:
        """Store the model's message. With `hold` and calls, store it with the next record or by `store_message`."""
        if hold and calls:
            self._message = Message(role="assistant", content=text, tool_calls=tuple(calls)), usage
            return
        options: dict[str, Any] = {"lease": self._lease, "turn_id": self._turn_id, "usage": usage}
        try:
            await self._sessions.append_message(
                self._lease.session_id, "assistant", text, tool_calls=calls or None, **options
            )
        except (StoreError, SessionBusy):
            if text:  # it was shown; the calls were not announced
                self.unstored.append(Message(role="assistant", content=text))
            raise

    def when_stored(self, announce: Callable[[], None]) -> None:
        """Call a function as soon as no message is held: an event is not emitted before its message is durable."""
        if self._message is None:
            announce()
        else:
            self._announcements.append(announce)

    async def store_message(self) -> None:
        """Store the message that is held, if there is one."""
        if self._message is not None:
            await self._write([])

    def store_message_soon(self) -> None:
        """Begin to store the message that is held, because its calls may wait for a long time before they start.

        If that fails, the next record tries again.
        """
        if self._message is not None and (self._storing is None or self._storing.done()):
            self._begin_to_store([]).add_done_callback(_note_failure)

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
        handoff_state = None if self._handoff is None else self._handoff.if_shell_changed()
        try:
            if self._handoff is None or handoff_state is None:
                await self._write(entries, images=images)
            else:
                await self._write(entries, images=images, handoff_state=handoff_state)
                self._handoff.mark_stored(handoff_state)
        except ToolgateError:
            self.unstored += entries if self._message is None else [self._message[0], *entries]
            self._message = None
            self._announcements.clear()
            raise

    def _taken(self, call: ToolCall) -> list[CallRecord]:
        """Take the records held for a call, up to its end. A provider may have used the id for other calls, too."""
        held = self._held.pop(call.id, [])
        for count, record in enumerate(held, 1):
            if record.kind == "finished":
                if held[count:]:
                    self._held[call.id] = held[count:]
                return held[:count]
        return [*held, CallRecord(kind="finished", session_id=self._lease.session_id, **_named(call))]

    async def _write(self, entries: Sequence[Entry], **more: Any) -> None:
        """Store entries, after the message that is held or together with it."""
        if self._joining is not None and not more:
            self._joining += entries
            assert self._storing is not None
            await asyncio.shield(self._storing)
            return
        while self._storing is not None and not self._storing.done():
            await asyncio.wait({self._storing})
        if self._message is not None:
            await asyncio.shield(self._begin_to_store(entries, **more))
        elif entries:
            await self._sessions.append(self._lease, entries, turn_id=self._turn_id, **more)

    def _begin_to_store(self, entries: Sequence[Entry], **more: Any) -> asyncio.Task[None]:
        """Store the message in a task that begins in the next turn of the event loop: other calls start until then."""
        self._joining = list(entries)
        self._storing = asyncio.get_running_loop().create_task(self._store_with_message(**more))
        return self._storing

    async def _store_with_message(self, **more: Any) -> None:
        assert self._message is not None
        assert self._joining is not None
        message, usage = self._message
        entries, self._joining = [message, *self._joining], None
        await self._sessions.append(self._lease, entries, turn_id=self._turn_id, usage=usage, **more)
        self._message = None
        announcements, self._announcements = self._announcements, []
        for announce in announcements:
            announce()


def _note_failure(task: asyncio.Task[None]) -> None:
    """Let asyncio know that the failure is handled: the next write stores the message again."""
    if not task.cancelled():
        task.exception()


def _named(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "tool_name": call.name}


def _tool_message(call: ToolCall, output: str, result: ToolResult) -> Message:
    images = tuple(image.stored for image in result.content)
    fields = {"role": "tool", "content": output, "tool_calls": (), "tool_call_id": call.id, "images": images}
    return trusted(Message, fields)


def _ending(call: ToolCall, result: ToolResult, ended: CallRecord) -> dict[str, Any]:
    """The payload of the event that ends a call: everything except the output, which is in the tool message."""
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
