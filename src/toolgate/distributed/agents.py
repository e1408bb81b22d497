"""Sub-agents on other workers: each is a turn of its own in a queue, and its parent waits for it."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolgate.agent.definition import AgentDefinition
from toolgate.agent.subagents import SubAgents
from toolgate.distributed import dispatches
from toolgate.distributed.names import agents_queue, version
from toolgate.distributed.retry import retry_until_available
from toolgate.errors import ToolError, ToolgateError
from toolgate.log import logger
from toolgate.protocol.codes import ErrorCode
from toolgate.sessions import calls, transcript, turns
from toolgate.sessions.event_log import EventWriter, as_json, clean

if TYPE_CHECKING:
    from toolgate.distributed.engine import TurnQueue
    from toolgate.models.base import ModelClient
    from toolgate.sessions import Database, Turn
    from toolgate.sessions.driver import Transaction
    from toolgate.sessions.types import Message

_LOOK = 1.0
_STOPPING = 10.0
"""Seconds that a child gets to end after it was asked to."""


def subagents_on_workers(
    db: Database, turn_queue: TurnQueue, taken: dispatches.ClaimedTurn, given_up: Callable[[], bool]
) -> Callable[..., SubAgents]:
    """What makes the runner of a turn's sub-agents. `given_up` says whether someone else goes on with the turn."""

    def make(*args: Any) -> SubAgents:
        if taken.agent:  # children of children stay where they are: they would wait in the queue that they fill
            return SubAgents(*args)
        return WorkerSubAgents(db, turn_queue, taken, given_up, *args)

    return make


class WorkerSubAgents(SubAgents):
    """Runs children on whichever worker takes them. Asked for the same task again, it finds the child that it has."""

    durable = True
    """A call of `task` may be repeated: it goes on waiting for the same child."""

    def __init__(
        self,
        db: Database,
        turn_queue: TurnQueue,
        taken: dispatches.ClaimedTurn,
        given_up: Callable[[], bool],
        *args: Any,
    ) -> None:
        super().__init__(*args)
        self._db = db
        self._turn_queue = turn_queue
        self._taken = taken
        self._given_up = given_up
        self._found: set[tuple[str, int]] = set()
        """Calls whose child is waited for: providers repeat ids."""

    async def _child(
        self, definition: AgentDefinition, model: ModelClient, prompt: str, description: str, call_id: str
    ) -> dict[str, Any]:
        said = transcript.message("user", prompt, None, None)
        ordinal = await self._ordinal(call_id)
        session_id = _identifier(self._taken.turn.id, call_id, ordinal, definition.name, prompt, description)
        about = {
            "call_id": call_id,
            "agent": definition.name,
            "session_id": session_id,
            "description": description,
        }
        turn = await retry_until_available(lambda: self._db.write(lambda tx: self._begin(tx, said, about)))
        try:
            turn = await self._ended(turn)
        except asyncio.CancelledError:
            if not self._given_up():
                await self._stop(turn)
            raise
        return await retry_until_available(lambda: self._db.read(lambda tx: _answer(tx, turn, definition.name)))

    async def _ordinal(self, call_id: str) -> str:
        """Which of the turn's calls with this id asks, so that it finds its own child again and nobody else's."""
        sql = (
            "SELECT ordinal FROM tool_calls WHERE session_id = ?1 AND turn_id = ?2 AND call_id = ?3 "
            "AND state = 'started' ORDER BY ordinal"
        )
        key = self._taken.lease.session_id, self._taken.turn.id, call_id
        for (ordinal,) in await retry_until_available(lambda: self._db.read(lambda tx: tx.rows(sql, *key))):
            if (call_id, ordinal) not in self._found:
                self._found.add((call_id, ordinal))
                return str(ordinal)
        return ""

    def _begin(self, transaction: Transaction, said: Message, about: dict[str, str]) -> Turn:
        session_id, agent = about["session_id"], about["agent"]
        known = turns.of_session(transaction, session_id)
        if known:
            return known[0]
        taken = self._taken
        transaction.run(
            "INSERT INTO sessions (id, mode, title, user_name, project, parent_id, created_at, updated_at) "
            "SELECT ?1, ?2, ?3, user_name, project, id, updated_at, updated_at FROM sessions WHERE id = ?4",
            *(session_id, self._mode.value, clean(about["description"]) or agent, taken.lease.session_id),
        )
        writer = EventWriter(transaction, taken.lease.session_id, taken.lease, turn_id=taken.turn.id)
        writer.event("agent_started", as_json(about))
        queue = agents_queue(taken.workspace)
        place = dispatches.TurnOrigin(
            user=taken.user, workspace=taken.workspace, queue=queue, version=version(), agent=agent
        )
        turn = dispatches.submit(transaction, session_id, said, place, parent_id=taken.turn.id)
        self._turn_queue.enqueue(transaction, turn.id, session_id, queue=queue, share=taken.user)
        return turn

    async def _ended(self, turn: Turn) -> Turn:
        """The child's turn, once it has ended."""
        with self._db.feed.follow(turn.session_id) as news:
            while True:
                news.clear()
                await retry_until_available(self._db.driver.listen)
                found = await retry_until_available(lambda: self._db.read(lambda tx: turns.get(tx, turn.id)))
                if found is not None and found.status != "running":
                    return found
                try:
                    async with asyncio.timeout(_LOOK):
                        await news.wait()
                except TimeoutError:
                    pass  # then it is time to look

    async def _stop(self, turn: Turn) -> None:
        """End the child, because its parent ends."""
        try:
            await self._db.write(lambda tx: dispatches.cancel(tx, turn.session_id))
            async with asyncio.timeout(_STOPPING):
                await self._ended(turn)
        except (ToolgateError, TimeoutError) as error:
            logger("distributed").warning("sub_agent_not_ended", turn_id=turn.id, error=type(error).__name__)


def _identifier(*parts: str) -> str:
    """The child's session: the same for the same task of the same turn, whoever asks."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def _answer(transaction: Transaction, turn: Turn, name: str) -> dict[str, Any]:
    """What the child said and used; what went wrong is the answer to the call that started it."""
    summary: dict[str, dict[str, Any]] = {}
    for call in calls.of_session(transaction, turn.session_id):
        entry = summary.setdefault(call.tool_name, {"tool": call.tool_name, "calls": 0, "errors": 0})
        entry["calls"] += 1
        entry["errors"] += call.status == "error" or call.state == "unknown"
    used = list(summary.values())
    said = [
        message.content for message in transcript.stored(transaction, turn.session_id) if message.role == "assistant"
    ]
    text = said[-1] if said else ""
    if turn.status != "done":
        reason, advice = f"failed: {turn.error}", "Do the work yourself, or try again with a smaller piece of it."
    elif not text.strip():
        reason, advice = "ended without an answer.", "Do the work yourself, or ask it for something more definite."
    else:
        return {"result": text, "tool_summary": used}
    raise ToolError(ErrorCode.EXECUTION_ERROR, f"Sub-agent '{name}' {reason}", advice, data={"tool_summary": used})
