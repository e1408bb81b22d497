"""An operation is repeated while the database is unavailable, and only then."""

import asyncio

import pytest

from toolgate.distributed import retry
from toolgate.errors import SessionBusy, SessionNotFound, StoreError


class Database:
    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if self._errors:
            raise self._errors.pop(0)
        return "row"


async def test_it_is_asked_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_RETRY_SECONDS", 0.0)
    database = Database(StoreError("away"), SessionBusy("locked"))

    assert await retry.retry_until_available(database.ask) == "row"
    assert database.asked == 3


async def test_another_error_is_raised_at_once() -> None:
    database = Database(SessionNotFound("gone"))

    with pytest.raises(SessionNotFound):
        await retry.retry_until_available(database.ask)
    assert database.asked == 1


async def test_the_wait_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_RETRY_SECONDS", 3600.0)
    database = Database(*(StoreError("away") for _ in range(10)))
    waiting = asyncio.create_task(retry.retry_until_available(database.ask))
    while not database.asked:
        await asyncio.sleep(0)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
