"""Pictures of a session: stored once with their message, copied with it, and gone with it."""

from tests.support.pictures import png
from toolgate.protocol.content import ImageContent
from toolgate.sessions import Database, Message, SessionManager
from toolgate.sessions.transcript import message

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")


async def seen(store: SessionManager) -> str:
    """A session in which a call has shown a picture."""
    session = await store.create()
    lease = await store.try_claim(session.id)
    assert lease is not None
    asked = message("assistant", "", [{"id": "c1", "name": "read_file", "arguments": "{}"}], None)
    answer = Message(role="tool", content="a picture", tool_call_id="c1", images=(PICTURE.stored,))
    turn = await store.start_turn(lease, "look")
    await store.append(lease, [asked], turn_id=turn.id)
    await store.append(lease, [answer], turn_id=turn.id, images=[PICTURE])
    await store.finish_turn(lease, turn.id, "done", release=True)
    return session.id


async def test_a_message_keeps_its_pictures(store: SessionManager) -> None:
    session = await seen(store)
    said = await store.messages(session)
    assert [one.images for one in said] == [(), (), (PICTURE.stored,)]
    assert await store.picture(session, PICTURE.sha256) == ("image/png", png())
    other = await store.create()
    assert await store.picture(other.id, PICTURE.sha256) is None


async def test_a_fork_has_the_pictures_of_its_source(store: SessionManager) -> None:
    session = await seen(store)
    made = await store.fork(session)
    assert await store.picture(made.id, PICTURE.sha256) == ("image/png", png())
    assert (await store.messages(made.id))[-1].images == (PICTURE.stored,)


async def test_pictures_go_with_their_session(store: SessionManager, db: Database) -> None:
    session = await seen(store)
    await store.delete(session)
    assert await store.picture(session, PICTURE.sha256) is None
