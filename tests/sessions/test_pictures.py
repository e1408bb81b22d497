"""Pictures of a session: stored once with their message, copied with it, and gone with it."""

from collections.abc import Iterable

import pytest

from tests.support.pictures import png
from toolgate.errors import SessionNotFound, TooManyPictures
from toolgate.protocol.content import ImageContent
from toolgate.sessions import Database, Message, SessionManager, Usage, pictures
from toolgate.sessions.pictures import MAX_UNNAMED
from toolgate.sessions.transcript import new_message

PICTURE = ImageContent(media_type="image/png", width=3, height=2, data=png(), name="a.png")


async def seen(store: SessionManager) -> str:
    """A session in which a call has shown a picture."""
    session = await store.create()
    lease = await store.try_claim(session.id)
    assert lease is not None
    asked = new_message("assistant", "", [{"id": "c1", "name": "read_file", "arguments": "{}"}], None)
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


async def test_a_message_of_the_person_keeps_its_pictures(store: SessionManager) -> None:
    session = await store.create()
    started = await store.claim_and_start(session.id, "", ttl=60, images=[PICTURE])
    (said,) = await store.messages(session.id)
    assert (said.role, said.content, said.images) == ("user", "", (PICTURE.stored,))
    assert await store.picture(session.id, PICTURE.sha256) == ("image/png", png())
    assert [one.images for one in await store.history(session.id)] == [(PICTURE.stored,)]
    assert (await store.get(session.id)).title == "a.png"
    (event,) = [event for event in await store.events(session.id) if event.kind == "message"]
    assert event.payload["images"] == [PICTURE.stored.model_dump()]
    assert await store.user_message_images(session.id, event.seq) == (PICTURE.stored,)
    await store.finish_turn(started.lease, started.turn.id, "done", release=True)
    assert (await store.messages((await store.fork(session.id)).id))[0].images == (PICTURE.stored,)


async def test_a_picture_may_be_stored_before_its_message(store: SessionManager) -> None:
    session = await store.create()
    for _ in range(2):
        await store.add_picture(session.id, PICTURE)
    await store.claim_and_start(session.id, "Look", ttl=60, images=[PICTURE.stored])
    assert (await store.messages(session.id))[0].images == (PICTURE.stored,)
    with pytest.raises(SessionNotFound):
        await store.add_picture("nobody", PICTURE)


async def test_a_summary_names_the_pictures_that_it_stands_for(store: SessionManager) -> None:
    session = await store.create()
    started = await store.claim_and_start(session.id, "Look", ttl=60, images=[PICTURE])
    await store.append(started.lease, [new_message("assistant", "Red.", None, None)], turn_id=started.turn.id)
    await store.summarise(started.lease, started.turn.id, "A red box.", 2, tokens=(9, 1), usage=Usage())
    assert (await store.context(session.id)).quoted == ("Look\n[Shown here: a.png (3 × 2)]",)


def numbered(number: int, size: int = 0) -> ImageContent:
    return ImageContent(media_type="image/png", width=3, height=2, data=b"%d" % number + bytes(size))


async def stored(store: SessionManager, session: str, numbers: Iterable[int], size: int = 0) -> list[int]:
    """Which of the numbered pictures a session has."""
    return [one for one in numbers if await store.picture(session, numbered(one, size).sha256) is not None]


async def test_of_pictures_that_no_message_names_the_oldest_goes(store: SessionManager) -> None:
    session = await seen(store)  # a result names one
    lease = (await store.claim_and_start(session, "and this?", ttl=60, images=[numbered(100)])).lease
    await store.release(lease)
    order = [7, 3, *range(30, 30 + MAX_UNNAMED - 2)]  # not in the order of hashes or numbers
    for number in order:
        await store.add_picture(session, numbered(number))
    kept = await stored(store, session, order)
    await store.add_picture(session, numbered(200))
    after_one = await stored(store, session, order)
    await store.add_picture(session, numbered(201))

    assert kept == order
    assert after_one == order[1:]
    assert await stored(store, session, [*order, 100, 200, 201]) == [*order[2:], 100, 200, 201]
    assert await store.picture(session, PICTURE.sha256) is not None


async def test_a_picture_that_is_sent_again_is_the_newest(store: SessionManager) -> None:
    session = (await store.create()).id
    for number in (*range(MAX_UNNAMED), 0):
        await store.add_picture(session, numbered(number))
    await store.add_picture(session, numbered(200))

    assert await stored(store, session, range(MAX_UNNAMED)) == [0, *range(2, MAX_UNNAMED)]


async def test_more_of_the_oldest_go_if_the_new_picture_needs_their_room(
    store: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MAX_BYTES", 10_000)
    monkeypatch.setattr(pictures, "MAX_UNNAMED", 4)
    session = (await store.create()).id
    for number in range(4):
        await store.add_picture(session, numbered(number, 2_000))
    await store.add_picture(session, numbered(9, 5_000))

    assert await stored(store, session, range(4), 2_000) == [2, 3]


async def test_a_session_takes_pictures_up_to_a_limit(store: SessionManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_BYTES", 5_000)
    monkeypatch.setattr(pictures, "MAX_UNNAMED", 2)
    session = await store.create()
    named = [numbered(number, 2_000) for number in range(2)]
    lease = (await store.claim_and_start(session.id, "look", ttl=60, images=named)).lease
    await store.release(lease)
    with pytest.raises(TooManyPictures, match="begin another session"):
        await store.add_picture(session.id, numbered(2, 2_000))
    await store.add_picture(session.id, numbered(3))

    assert await store.picture(session.id, numbered(2, 2_000).sha256) is None
