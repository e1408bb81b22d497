"""Sub-agents on workers: each one is a turn in a queue, and the parent turn waits for its result."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolgate.agent.definition import AgentDefinition
from toolgate.agent.subagents import MAX_RUNNING, OnSession, SubAgents
from toolgate.distributed import dispatches
from toolgate.distributed.names import agents_queue
from toolgate.distributed.retry import retry_until_available
from toolgate.errors import SessionBusy, ToolError, ToolgateError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.sessions import calls, transcript, turns
from toolgate.sessions.event_log import EventWriter, as_json, clean

if TYPE_CHECKING:
    from toolgate.models.base import ModelClient
    from toolgate.sessions import Database, Turn
    from toolgate.sessions.driver import Transaction
    from toolgate.sessions.types import Message

_POLL_SECONDS = 1.0
"""Seconds after which the sub-agent's turn is read again without a notification."""
_STOP_SECONDS = 10.0
"""Seconds that a sub-agent gets to end after it was cancelled."""

_RUNNING = (
    "SELECT COUNT(*) FROM dispatches d JOIN turns t ON t.id = d.turn_id "
    "WHERE d.state <> 'ended' AND d.agent <> '' AND t.parent_id = ?1"
)


def subagents_on_workers(
    db: Database, claimed: dispatches.ClaimedTurn, given_up: Callable[[], bool]
) -> Callable[..., SubAgents]:
    """Return the class that runs a turn's sub-agents. `given_up` tells whether another worker continues the turn."""

    def make(*args: Any) -> SubAgents:
        if claimed.agent:  # its sub-agents would wait in the queue for a slot that their own parents hold
            return SubAgents(*args)
        return WorkerSubAgents(db, claimed, given_up, *args)

    return make


class WorkerSubAgents(SubAgents):
    """Runs sub-agents on any worker that claims them. A repeated `task` call waits for the sub-agent it has started."""

    durable = True
    """A call of `task` may be repeated: it waits for the same sub-agent."""

    def __init__(self, db: Database, claimed: dispatches.ClaimedTurn, given_up: Callable[[], bool], *args: Any) -> None:
        super().__init__(*args)
        self._db = db
        self._claimed = claimed
        self._given_up = given_up
        self._awaited: set[tuple[str, int]] = set()
        """Calls whose sub-agent is awaited. Providers repeat call ids."""

    async def _child(
        self,
        definition: AgentDefinition,
        model: ModelClient,
        prompt: str,
        description: str,
        call_id: str,
        on_session: OnSession,
    ) -> dict[str, Any]:
        message = transcript.new_message("user", prompt, None, None)
        ordinal = await self._ordinal(call_id)
        session_id = _identifier(self._claimed.turn.id, call_id, ordinal, definition.name, prompt, description)
        started = {"call_id": call_id, "agent": definition.name, "session_id": session_id, "description": description}
        turn = await retry_until_available(lambda: self._db.write(lambda tx: self._begin(tx, message, started)))
        on_session(session_id)
        try:
            turn = await self._ended(turn)
        except asyncio.CancelledError:
            if not self._given_up():
                await self._stop(turn)
            raise
        answer = await retry_until_available(lambda: self._db.read(lambda tx: _answer(tx, turn, definition.name)))
        return {**answer, "task_id": session_id}

    async def _ordinal(self, call_id: str) -> str:
        """Return the number of this call among the turn's calls with the same id. It is part of the sub-agent's id."""
        sql = (
            "SELECT ordinal FROM tool_calls WHERE session_id = ?1 AND turn_id = ?2 AND call_id = ?3 "
            "AND state = 'started' ORDER BY ordinal"
        )
        key = self._claimed.lease.session_id, self._claimed.turn.id, call_id
        for (ordinal,) in await retry_until_available(lambda: self._db.read(lambda tx: tx.rows(sql, *key))):
            if (call_id, ordinal) not in self._awaited:
                self._awaited.add((call_id, ordinal))
                return str(ordinal)
        return ""

    def _begin(self, transaction: Transaction, message: Message, started: dict[str, str]) -> Turn:
        """Start the sub-agent, or find the one that a lost worker started. `SessionBusy` while too many run."""
        session_id, agent = started["session_id"], started["agent"]
        existing = turns.of_session(transaction, session_id)
        if existing:
            return existing[0]
        claimed = self._claimed
        # this locks the session: two transactions must not count the same free slot
        transaction.clock(claimed.lease.session_id)
        row = transaction.row(_RUNNING, claimed.turn.id)
        if row is not None and row[0] >= MAX_RUNNING:
            raise SessionBusy(f"{MAX_RUNNING} sub-agents of this turn run already; the next one waits.")
        transaction.run(
            "INSERT INTO sessions (id, mode, title, user_name, project, parent_id, model, approval_mode, created_at, "
            "updated_at) SELECT ?1, ?2, ?3, user_name, project, id, model, approval_mode, updated_at, updated_at "
            "FROM sessions WHERE id = ?4",
            *(session_id, self._mode.value, clean(started["description"]) or agent, claimed.lease.session_id),
        )
        writer = EventWriter(transaction, claimed.lease.session_id, claimed.lease, turn_id=claimed.turn.id)
        writer.event("agent_started", as_json(started))
        queue = agents_queue(claimed.workspace)
        origin = dispatches.TurnOrigin(user=claimed.user, workspace=claimed.workspace, queue=queue, agent=agent)
        return dispatches.submit(transaction, session_id, message, origin, parent_id=claimed.turn.id)

    async def _ended(self, turn: Turn) -> Turn:
        """Wait until the sub-agent's turn has ended, and return it."""
        with self._db.feed.follow(turn.session_id) as news:
            while True:
                news.clear()
                await retry_until_available(self._db.driver.listen)
                found = await retry_until_available(lambda: self._db.read(lambda tx: turns.get(tx, turn.id)))
                if found is not None and found.status != "running":
                    return found
                try:
                    async with asyncio.timeout(_POLL_SECONDS):
                        await news.wait()
                except TimeoutError:
                    pass  # no notification: read the turn anyway

    async def _stop(self, turn: Turn) -> None:
        """End the sub-agent because its parent ends."""
        try:
            await self._db.write(lambda tx: dispatches.cancel(tx, turn.session_id))
            async with asyncio.timeout(_STOP_SECONDS):
                await self._ended(turn)
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").warning("sub_agent_not_ended", turn_id=turn.id, error=type(error).__name__)


def _identifier(*parts: str) -> str:
    """Return the id of the sub-agent's session. The same task of the same turn always gives the same id."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def _answer(transaction: Transaction, turn: Turn, name: str) -> dict[str, Any]:
    """Return the sub-agent's answer and the tools it used. Raises `ToolError` if it failed or has no answer."""
    summary: dict[str, dict[str, Any]] = {}
    for call in calls.of_session(transaction, turn.session_id):
        entry = summary.setdefault(call.tool_name, {"tool": call.tool_name, "calls": 0, "errors": 0})
        entry["calls"] += 1
        entry["errors"] += call.status == "error" or call.state == "unknown"
    used = list(summary.values())
    messages = [
        message.content for message in transcript.stored(transaction, turn.session_id) if message.role == "assistant"
    ]
    text = messages[-1] if messages else ""
    if turn.status != "done":
        reason, advice = f"failed: {turn.error}", "Do the work yourself, or try again with a smaller piece of it."
    elif not text.strip():
        reason, advice = "ended without an answer.", "Do the work yourself, or ask it for something more definite."
    else:
        return {"result": text, "tool_summary": used}
    raise ToolError(ErrorCode.EXECUTION_ERROR, f"Sub-agent '{name}' {reason}", advice, data={"tool_summary": used})
