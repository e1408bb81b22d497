"""The session that a person talks to."""

from toolgate.sessions import InMemorySessions
from toolgate.sessions.ancestors import top_session


async def test_the_top_of_a_sub_agents_session_is_its_first_ancestor() -> None:
    sessions = InMemorySessions()
    top = await sessions.create()
    child = await sessions.create(parent_id=top.id)
    grandchild = await sessions.create(parent_id=child.id)

    assert [await top_session(sessions, one.id) for one in (top, child, grandchild)] == [top.id] * 3
    await sessions.close()
