"""Turns that are built from what is kept for their session: new ones, and those that another process has started."""

import pytest

from tests.agent.kit import Stage
from toolgate.agent import AgentEvent, TextChunk
from toolgate.agent.stream import TurnStream
from toolgate.agent.turn_result import run_turn
from toolgate.errors import SessionNotFound
from toolgate.protocol.modes import ToolMode
from toolgate.sessions import Lease


async def _started(stage: Stage) -> tuple[Lease, str]:
    """A turn that is in the log and that nobody runs."""
    started = await stage.sessions.claim_and_start(stage.id, "Hello", ttl=60)
    return started.lease, started.turn.id


async def _never(_stream: TurnStream) -> None:
    raise AssertionError("the stream started a turn of its own")


async def test_a_new_turn_works_in_the_context_of_its_session() -> None:
    stage = await Stage.set(["Hi."])
    lease, turn_id = await _started(stage)
    slot = await stage.loop.turns.slots.take(stage.id)
    turn = stage.loop.turns.new(slot, lease, turn_id, ToolMode.coding, TurnStream(_never))

    assert turn._toolset.context.state is slot.context.state
    assert (await run_turn(turn)).status == "done"
    await stage.close()


async def test_a_turn_that_another_process_has_started_is_run_to_its_end() -> None:
    stage = await Stage.set(["Resumed."])
    lease, turn_id = await _started(stage)
    events: list[AgentEvent] = []
    async with stage.loop.turns.resume(lease, turn_id, emit=events.append, approver=None) as turn:
        result = await run_turn(turn)

    assert result.status == "done"
    assert [event.content for event in events if isinstance(event, TextChunk)] == ["Resumed."]
    await stage.close()


async def test_the_session_of_a_resumed_turn_is_free_although_the_turn_failed() -> None:
    stage = await Stage.set([])
    lease, turn_id = await _started(stage)
    slot = await stage.loop.turns.slots.take(stage.id)
    with pytest.raises(ZeroDivisionError):
        async with stage.loop.turns.resume(lease, turn_id, emit=lambda _: None, approver=None):
            raise ZeroDivisionError

    assert not slot.taken
    await stage.close()


async def test_a_turn_whose_session_was_deleted_is_not_resumed() -> None:
    stage = await Stage.set([])
    lease, turn_id = await _started(stage)
    gone = lease.model_copy(update={"session_id": "gone"})
    with pytest.raises(SessionNotFound):
        async with stage.loop.turns.resume(gone, turn_id, emit=lambda _: None, approver=None):
            pass
    await stage.close()
