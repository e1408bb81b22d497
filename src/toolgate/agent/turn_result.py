"""The result of a turn: how it ended, and how that is stored and emitted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolgate.agent.events import TurnDone, TurnFailed
from toolgate.agent.handoff import SessionHandoff
from toolgate.agent.turn import RunningTurn, TurnStopped
from toolgate.agent.turn_context import NothingToCompact
from toolgate.agent.turn_hooks import TurnDenied
from toolgate.errors import ModelError, SessionError, SessionFenced, StoreError, ToolgateError, WorkspaceError
from toolgate.log import logger
from toolgate.runtime.tracing import span
from toolgate.sessions import Lease, SessionStore, Usage
from toolgate.sessions.types import TurnStatus

CANCELLED = "CANCELLED"
HOOK_DENIED = "HOOK_DENIED"
STORE_ERROR = "STORE_ERROR"
"""The database did not store what the turn did. Its end is stored later: clients receive it before it is in the log."""

RETRYABLE = (STORE_ERROR, "SESSION_FENCED")
"""Results of a turn that lost the database or its session: another worker may resume it."""


class TurnResult(NamedTuple):
    """How a turn ended."""

    status: TurnStatus
    code: str = ""
    message: str = ""
    cause: BaseException | None = None
    """The exception to raise after everything is stored."""
    details: Mapping[str, Any] = {}
    """What else the log says about it: the size of the context, and the cause and the advice of a failed model."""


async def run_turn(turn: RunningTurn) -> TurnResult:
    """Run a turn to its end and return the result; raises nothing."""
    with span(
        "invoke_agent", turn.agent, gen_ai__agent__name=turn.agent, gen_ai__conversation__id=turn.session_id
    ) as agent_span:
        result = await _run_turn(turn)
        await turn.end_tasks()
        if result.code not in RETRYABLE:
            await turn.run_end_hooks(result.status, result.code)
        if result.status != "done":
            agent_span.failed(result.code)
        size = {"context_tokens": turn.counters.context_tokens, "context_limit": turn.counters.context_limit}
        return result._replace(details={**result.details, **size})


async def _run_turn(turn: RunningTurn) -> TurnResult:
    try:
        await turn.rounds()
    except TurnStopped:
        return TurnResult(status="cancelled", code=CANCELLED, message="The turn was cancelled.")
    except asyncio.CancelledError as error:
        turn.stop()
        return TurnResult(status="cancelled", code=CANCELLED, message="The turn was cancelled.", cause=error)
    except ModelError as error:
        details = {"cause": error.cause, "advice": error.advice, "retryable": error.retryable}
        return TurnResult(status="failed", code=error.code, message=error.message, details=details)
    except TurnDenied as error:
        return TurnResult(status="failed", code=HOOK_DENIED, message=str(error))
    except NothingToCompact as error:
        return TurnResult(status="failed", code="NOTHING_TO_COMPACT", message=str(error))
    except SessionFenced as error:
        return TurnResult(status="failed", code="SESSION_FENCED", message=str(error))
    except (StoreError, SessionError) as error:
        return TurnResult(status="failed", code=STORE_ERROR, message=str(error))
    except WorkspaceError as error:
        return TurnResult(status="failed", code="INTERNAL_ERROR", message=str(error))
    except Exception as error:  # noqa: BLE001 - whatever fails, the end of the turn is stored and the session stays usable
        logger("agent").error("turn_failed", error=type(error).__name__, exc_info=error)
        return TurnResult(status="failed", code="INTERNAL_ERROR", message=f"The turn failed ({type(error).__name__}).")
    return TurnResult(status="done")


async def store_result(
    sessions: SessionStore, lease: Lease, turn_id: str, result: TurnResult, handoff: SessionHandoff | None
) -> None:
    """Store the end of a turn and its session's handoff, and release the session, in one transaction.

    A client that receives the end may start the next turn at once, so the release cannot come later.
    """
    fields: dict[str, Any] = {"code": result.code, "error": result.message, "details": result.details}
    handoff_state = None if handoff is None else handoff.if_changed()
    if handoff_state is not None:
        fields["handoff_state"] = handoff_state
    await sessions.finish_turn(lease, turn_id, result.status, release=True, **fields)
    if handoff is not None:
        handoff.mark_stored(handoff_state)


async def finish_turn(
    sessions: SessionStore, lease: Lease, turn_id: str, result: TurnResult, handoff: SessionHandoff | None = None
) -> TurnResult:
    """Store the end of a turn; a failure to do so becomes the result. Raises nothing.

    `STORE_ERROR` means that the end is not stored yet. A turn that failed for that reason is not stored here: clients
    are told first, without waiting for a database that is locked or full.
    """
    if result.code == STORE_ERROR:
        return result
    try:
        await store_result(sessions, lease, turn_id, result, handoff)
        return result
    except SessionFenced as error:
        return TurnResult(status="failed", code="SESSION_FENCED", message=str(error), cause=result.cause)
    except ToolgateError as error:
        return TurnResult(status="failed", code=STORE_ERROR, message=str(error), cause=result.cause)


def last_event(result: TurnResult, turn: RunningTurn, turn_id: str) -> TurnDone | TurnFailed:
    """The last event of a turn."""
    if result.status != "done":
        details = result.details
        if details.get("cause", result.message) == result.message:
            return TurnFailed(code=result.code, message=result.message)
        why = {name: details[name] for name in ("cause", "advice", "retryable")}
        return TurnFailed(code=result.code, message=result.message, **why)
    usage = Usage(input_tokens=turn.counters.input_tokens, output_tokens=turn.counters.output_tokens)
    size = {"context_tokens": turn.counters.context_tokens, "context_limit": turn.counters.context_limit}
    return TurnDone(turn_id=turn_id, usage=usage, **size)
