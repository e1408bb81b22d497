"""Whole outputs in the database: there as a whole or not at all, once for each content, and gone when they are old."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from tests.distributed.cluster import until
from tests.distributed.conftest import new_database
from toolgate.errors import OutputMissing, StoreError, ToolgateError
from toolgate.sessions import Database
from toolgate.sessions import blobs as module
from toolgate.sessions.blobs import Blobs, Pieces
from toolgate.sessions.driver import Transaction

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(120)]

DAY = 86_400.0
CONTENT = [bytes([65 + number]) * (1000 + number) for number in range(5)]


@pytest.fixture(scope="module")
def url(server_url: str) -> str:
    async def prepared() -> str:
        made = await new_database(server_url)
        db = Database(made)
        await db.migrate()
        await db.close()
        return made

    return asyncio.run(prepared())


@pytest.fixture
async def db(url: str) -> AsyncIterator[Database]:
    made = Database(url)
    await made.write(lambda tx: tx.run("TRUNCATE outputs, blobs"))
    yield made
    await made.close()


def of(*pieces: bytes) -> Pieces:
    return lambda: iter(pieces)


async def read(blobs: Blobs, session_id: str, reference: str) -> bytes:
    return b"".join([piece async for piece in await blobs.pieces(session_id, reference)])


async def stored(db: Database) -> tuple[int, int, int]:
    """Outputs, blobs, and pieces of them."""
    sql = "SELECT (SELECT COUNT(*) FROM outputs), COUNT(DISTINCT hash), COUNT(*) FROM blobs"
    row = await db.read(lambda tx: tx.row(sql))
    assert row is not None
    return row[0], row[1], row[2]


async def age(db: Database, seconds: float) -> None:
    await db.write(lambda tx: tx.run("UPDATE outputs SET stored_at = stored_at - ?1", seconds))


@pytest.mark.parametrize("content", [[], [b"x"], [b"\x00\xff\r\n"], CONTENT])
async def test_what_is_stored_is_read_as_it_was(db: Database, content: list[bytes]) -> None:
    blobs = Blobs(db)
    await blobs.store("s", "tool-output/a.log", of(*content))

    assert await read(blobs, "s", "tool-output/a.log") == b"".join(content)


async def test_an_output_belongs_to_its_session(db: Database) -> None:
    blobs = Blobs(db)
    await blobs.store("one", "a.log", of(b"of one"))
    await blobs.store("two", "a.log", of(b"of two"))

    assert await read(blobs, "one", "a.log") == b"of one"
    assert await read(blobs, "two", "a.log") == b"of two"
    for session, reference in (("three", "a.log"), ("one", "b.log")):
        with pytest.raises(OutputMissing, match=f"removed, or could not be stored.*'{reference}'"):
            await blobs.pieces(session, reference)


async def test_the_same_content_is_stored_once_however_it_comes(db: Database) -> None:
    blobs = Blobs(db)
    await blobs.store("one", "a.log", of(*CONTENT))
    await blobs.store("one", "b.log", of(*CONTENT))
    await blobs.store("two", "a.log", of(b"".join(CONTENT)))

    assert await stored(db) == (3, 1, len(CONTENT))
    assert await read(blobs, "two", "a.log") == b"".join(CONTENT)


async def test_several_who_store_the_same_at_once_do_not_harm_each_other(db: Database, url: str) -> None:
    others = [Database(url) for _ in range(4)]
    stores = [Blobs(other) for other in others]
    contents = [CONTENT, [b"another"], CONTENT[:2]]
    work = [
        store.store(f"s{number}", f"{which}.log", of(*content))
        for number, store in enumerate(stores)
        for which, content in enumerate(contents)
    ]
    await asyncio.gather(*work)
    found = [await read(stores[0], f"s{number}", f"{which}.log") for number in range(4) for which in range(3)]
    for other in others:
        await other.close()

    assert found == [b"".join(content) for content in contents] * 4
    assert await stored(db) == (12, 3, len(CONTENT) + 1 + 2)


async def test_what_cannot_be_read_to_its_end_is_not_there_at_all(db: Database) -> None:
    def breaking() -> Iterator[bytes]:
        yield b"a beginning"
        if next(reads) > 0:
            raise ToolgateError("the disk is gone")
        yield b" and an end"

    reads = itertools.count()
    with pytest.raises(ToolgateError, match="gone"):
        await Blobs(db).store("s", "a.log", breaking)

    assert await stored(db) == (0, 0, 0)


async def test_what_changes_while_it_is_stored_is_not_stored(db: Database) -> None:
    reads = itertools.count()
    with pytest.raises(ToolgateError, match="changed"):
        await Blobs(db).store("s", "a.log", lambda: iter([b"%d" % next(reads)]))

    assert await stored(db) == (0, 0, 0)


async def test_too_large_is_said_and_where_it_is(db: Database) -> None:
    blobs = Blobs(db)
    await blobs.note("s", "tool-output/a.log", 123_456_789)

    with pytest.raises(OutputMissing, match=r"too large .*123,456,789 bytes.*'tool-output/a.log'"):
        await blobs.pieces("s", "tool-output/a.log")


async def test_a_reader_whose_output_is_removed_is_told_and_does_not_just_end(db: Database) -> None:
    blobs = Blobs(db)
    await blobs.store("s", "a.log", of(*CONTENT))
    pieces = await blobs.pieces("s", "a.log")
    first = await anext(pieces)
    await db.write(lambda tx: tx.run("DELETE FROM blobs WHERE piece > 1"))

    assert first == CONTENT[0]
    with pytest.raises(OutputMissing, match="while it was read"):
        async for _ in pieces:
            pass


async def test_what_is_old_is_removed_and_what_others_refer_to_stays(db: Database) -> None:
    blobs = Blobs(db)
    await blobs.store("old", "a.log", of(*CONTENT))
    await blobs.store("old", "b.log", of(b"only here"))
    await blobs.note("old", "c.log", 10**9)
    await age(db, 8 * DAY)
    await blobs.store("new", "a.log", of(*CONTENT))
    removed = [await blobs.tidy(7 * DAY), await blobs.tidy(7 * DAY)]

    assert removed == [True, False]
    assert await stored(db) == (1, 1, len(CONTENT))
    assert await read(blobs, "new", "a.log") == b"".join(CONTENT)
    with pytest.raises(OutputMissing, match="removed"):
        await blobs.pieces("old", "a.log")


async def test_much_that_is_old_is_removed_in_steps(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    blobs = Blobs(db)
    for number in range(5):
        await blobs.store("s", f"{number}.log", of(b"%d" % number))
    await age(db, 2 * DAY)
    first = await blobs.tidy(DAY)
    after_one = await stored(db)
    while await blobs.tidy(DAY):
        pass

    assert (first, after_one) == (True, (3, 3, 3))
    assert await stored(db) == (0, 0, 0)


async def test_what_is_stored_again_under_its_name_replaces_it_and_the_old_content_goes(db: Database) -> None:
    blobs = Blobs(db)
    await blobs.store("s", "a.log", of(b"before"))
    await blobs.store("s", "a.log", of(b"after"))
    await blobs.tidy(DAY)

    assert await read(blobs, "s", "a.log") == b"after"
    assert await stored(db) == (1, 1, 1)


async def test_what_is_being_stored_is_not_removed(db: Database, url: str) -> None:
    """Its last reader was just removed, and somebody stores the same content again: nobody may find it half gone."""
    blobs, other = Blobs(db), Database(url)
    contents = [[b"%d" % number, b"end"] for number in range(8)]

    async def keep_storing() -> None:
        for turn in range(6):
            for number, content in enumerate(contents):
                reference = f"{turn}.{number}"
                await Blobs(other).store("s", reference, of(*content))
                assert await read(blobs, "s", reference) == b"".join(content)
                await other.write(lambda tx: tx.run("UPDATE outputs SET stored_at = 0"))

    async def keep_tidying() -> None:
        while True:
            await blobs.tidy(DAY)

    tidying = asyncio.create_task(keep_tidying())
    storing = asyncio.create_task(keep_storing())
    await asyncio.wait({tidying, storing}, return_when=asyncio.FIRST_COMPLETED)
    tidying.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await tidying
    await storing
    await blobs.tidy(DAY)
    await other.close()

    assert await stored(db) == (0, 0, 0)


@contextlib.asynccontextmanager
async def gate(url: str, name: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Whoever calls this function waits in its transaction until the block ends; yields the wait for that."""
    import asyncpg  # type: ignore[import-untyped]

    function = getattr(module, name)

    def waiting(transaction: Transaction, *rest: Any) -> Any:
        transaction.row("SELECT pg_advisory_xact_lock(42)")
        return function(transaction, *rest)

    holder = await asyncpg.connect(url)
    await holder.execute("SELECT pg_advisory_lock(42)")

    async def come() -> bool:
        return bool(await holder.fetchval("SELECT COUNT(*) FROM pg_locks WHERE objid = 42 AND NOT granted"))

    try:
        with monkeypatch.context() as patched:
            patched.setattr(module, name, waiting)
            yield lambda: until(come, what="somebody at the gate")
    finally:
        await holder.close()


async def unused(db: Database, blobs: Blobs) -> None:
    """A content that nothing refers to."""
    await blobs.store("old", "a.log", of(*CONTENT))
    await db.write(lambda tx: tx.run("DELETE FROM outputs"))


async def test_a_content_that_somebody_is_about_to_refer_to_again_is_not_removed(
    db: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(db)
    await unused(db, blobs)
    async with gate(url, "_refer", monkeypatch) as reached:
        storing = asyncio.create_task(blobs.store("new", "a.log", of(*CONTENT)))
        await reached()
        removed = await blobs.tidy(DAY)
    await storing

    assert removed is False
    assert await read(blobs, "new", "a.log") == b"".join(CONTENT)


async def test_a_content_that_somebody_has_referred_to_since_it_was_found_unused_is_not_removed(
    db: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(db)
    await unused(db, blobs)
    async with gate(url, "_remove", monkeypatch) as reached:
        tidying = asyncio.create_task(blobs.tidy(DAY))
        await reached()
        await blobs.store("new", "a.log", of(*CONTENT))
    removed = await tidying

    assert removed is False
    assert await read(blobs, "new", "a.log") == b"".join(CONTENT)


async def test_a_database_that_is_not_there_is_said(server_url: str) -> None:
    blobs = Blobs(Database(server_url.replace("/postgres?", "/nowhere?")))

    with pytest.raises(StoreError):
        await blobs.store("s", "a.log", of(b"x"))
    with pytest.raises(StoreError):
        await blobs.pieces("s", "a.log")
