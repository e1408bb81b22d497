"""Waiting for a database that is away: on a worker that is no answer to anything, neither a no nor a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from toolgate.errors import SessionBusy, StoreError
from toolgate.log import logger

T = TypeVar("T")

_AGAIN = 0.5
"""Seconds before a database that did not answer is asked again."""


async def retry_until_available(ask: Callable[[], Awaitable[T]]) -> T:
    """What the database answers, once it does. MUST be something that may be asked twice.

    Whoever waits here in a turn is cancelled when the turn's session is lost, so that nobody waits in vain.
    """
    while True:
        try:
            return await ask()
        except (StoreError, SessionBusy) as error:
            logger("distributed").info("database_waited_for", error=str(error))
            await asyncio.sleep(_AGAIN)
