"""A turn on a worker: handed out, played, watched by its log."""

import pytest

from tests.distributed.cluster import Cluster

pytestmark = pytest.mark.distributed


async def test_a_turn_is_played_by_a_worker_and_is_in_the_log(machines: Cluster) -> None:
    await machines.ready(machines.worker())
    session = await machines.session()
    turn = await machines.begin(session, [["note", {"key": "one"}]], "All done.")
    ended = await machines.ended(turn.id)
    said = [(message.role, message.content) for message in await machines.sessions.history(session)]

    assert (ended.status, ended.attempt, ended.usage.input_tokens) == ("done", 1, 20)
    assert said[-1] == ("assistant", "All done.")
    assert machines.effects() == ["one"]
