"""The record of a call: the decision about it, its start and its end."""

from __future__ import annotations

from typing import Any, Literal

from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.ports import Recorder
from toolgate.protocol.record import CallRecord, Decision
from toolgate.runtime.invocation import Invocation
from toolgate.text.redaction import current_secrets, mask, recorded_copy

_BY_DEFAULT = Decision(decision="allow", gate="permission", reason="no permission needed")


class Recording:
    """Writes the records of a call: its decision, its start if it ran, and its end."""

    def __init__(self, recorder: Recorder, session_id: str | None, secrets: tuple[str, ...] = ()) -> None:
        self._recorder = recorder
        self._session_id = session_id
        self._secrets = secrets

    async def start(self, invocation: Invocation) -> ToolResponse | None:
        """Record that the call runs; a call that cannot be recorded does not run."""
        try:
            await self._write(invocation, "decision", (invocation.decision or _BY_DEFAULT).model_dump())
            await self._write(invocation, "started", {"arguments": recorded_copy(invocation.arguments)})
        except Exception as error:  # noqa: BLE001 - a recorder may fail in any way; the call then does not run
            logger("pipeline").error("record_failed", error=type(error).__name__)
            return ToolResponse.failure(
                ErrorCode.EXECUTION_ERROR,
                "The call was not run: it could not be recorded.",
                next_step="Tell the user that the record cannot be written.",
            )
        return None

    async def finish(self, invocation: Invocation, response: ToolResponse) -> None:
        """Record how it ended, and who refused it if it did not run."""
        code = response.error.code.value if response.error else None
        payload = {"status": response.status.value, "code": code, "arguments": recorded_copy(invocation.arguments)}
        if invocation.uncertain:
            payload["uncertain"] = True
        try:
            if not invocation.executed and (verdict := invocation.verdict()) is not None:
                await self._write(invocation, "decision", verdict.model_dump())
            await self._write(invocation, "finished", payload)
        except Exception as error:  # noqa: BLE001 - the call has run: its result is not lost with the record
            logger("pipeline").error("record_failed", error=type(error).__name__)

    async def _write(
        self, invocation: Invocation, kind: Literal["decision", "started", "finished"], payload: dict[str, Any]
    ) -> None:
        if current_secrets(self._secrets):
            payload = mask(payload, self._secrets)
        record = CallRecord(
            kind=kind,
            session_id=self._session_id,
            call_id=invocation.call_id,
            tool_name=invocation.name,
            payload=payload,
        )
        await self._recorder.record(record)
