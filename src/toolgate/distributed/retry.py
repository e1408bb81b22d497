"""Retrying while the database is unavailable. An outage is neither a denial nor a failure of the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from toolgate.errors import SessionBusy, StoreError
from toolgate.log import logger

T = TypeVar("T")

_RETRY_SECONDS = 0.5
"""Seconds before an unavailable database is tried again."""


async def retry_until_available(ask: Callable[[], Awaitable[T]]) -> T:
    """The result of an operation, once the database is available. The operation MUST be safe to repeat.

    A turn that waits here is cancelled when it loses its session, so the wait always ends.
    """
    while True:
        try:
            return await ask()
        except (StoreError, SessionBusy) as error:
            logger("distributed").info("database_waited_for", error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
