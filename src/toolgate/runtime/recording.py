"""The record of a call: the decision about it, its start and its end."""

from __future__ import annotations

from typing import Any, Literal

from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.envelope import ToolResponse
from toolgate.protocol.ports import Recorder
from toolgate.protocol.record import CallRecord, Decision
from toolgate.runtime.run import Run
from toolgate.text.redaction import mask, recorded_copy

_BY_DEFAULT = Decision(decision="allow", gate="permission", reason="no permission needed")


class Recording:
    """Writes what happened to a call; one decision, one end, and a start in between if it ran."""

    def __init__(self, recorder: Recorder, session_id: str | None, secrets: tuple[str, ...] = ()) -> None:
        self._recorder = recorder
        self._session_id = session_id
        self._secrets = secrets

    async def start(self, run: Run) -> ToolResponse | None:
        """Record that the call runs; a call that cannot be recorded does not run."""
        try:
            await self._write(run, "decision", (run.decision or _BY_DEFAULT).model_dump())
            await self._write(run, "started", {"arguments": recorded_copy(run.arguments)})
        except Exception as error:  # noqa: BLE001 - a recorder may fail in any way; the call then does not run
            logger("pipeline").error("record_failed", error=type(error).__name__)
            return ToolResponse.failure(
                ErrorCode.EXECUTION_ERROR,
                "The call was not run: it could not be recorded.",
                next_step="Tell the user that the record cannot be written.",
            )
        return None

    async def finish(self, run: Run, response: ToolResponse) -> None:
        """Record how it ended, and who refused it if it did not run."""
        code = response.error.code.value if response.error else None
        payload = {"status": response.status.value, "code": code, "arguments": recorded_copy(run.arguments)}
        if run.uncertain:
            payload["uncertain"] = True
        try:
            if not run.executed and (verdict := run.verdict()) is not None:
                await self._write(run, "decision", verdict.model_dump())
            await self._write(run, "finished", payload)
        except Exception as error:  # noqa: BLE001 - the call has run: its result is not lost with the record
            logger("pipeline").error("record_failed", error=type(error).__name__)

    async def _write(self, run: Run, kind: Literal["decision", "started", "finished"], payload: dict[str, Any]) -> None:
        if self._secrets:
            payload = mask(payload, self._secrets)
        record = CallRecord(
            kind=kind, session_id=self._session_id, call_id=run.call_id, tool_name=run.name, payload=payload
        )
        await self._recorder.record(record)
