"""A database by its address."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import TypeVar

from toolgate.errors import StoreError
from toolgate.protocol.closing import AsyncClosing
from toolgate.protocol.jsontext import is_unicode
from toolgate.sessions.driver import Driver, Unit
from toolgate.sessions.feed import Feed

T = TypeVar("T")


class Database(AsyncClosing):
    """Where sessions and notes are kept: `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite:///:memory:`, or
    `postgresql://user:password@host/name`. SQLAlchemy's spellings with a driver (`sqlite+aiosqlite`,
    `postgresql+asyncpg`) mean the same.

    Nothing is opened before the first use, and nothing is ever made up: what cannot be opened is a `StoreError`.
    """

    def __init__(self, url: str) -> None:
        self.feed = Feed()
        self._url = url
        self._driver: Driver | None = None
        _kind(url)

    @property
    def driver(self) -> Driver:
        """The driver, made on first use."""
        if self._driver is None:
            self._driver = _driver(self._url, self.feed)
        return self._driver

    async def migrate(self) -> None:
        """Create the tables, or migrate them to this version. Several processes may do so, and it may be killed."""
        await self.driver.migrate()

    def write(self, unit: Unit[T]) -> Awaitable[T]:
        """Run a unit in a transaction and answer when it is durable."""
        return (self._driver or self.driver).write(unit)

    def read(self, unit: Unit[T]) -> Awaitable[T]:
        """Run a unit that writes nothing."""
        return (self._driver or self.driver).read(unit)

    async def close(self) -> None:
        """The same as `aclose`."""
        await self.aclose()

    async def aclose(self) -> None:
        """Finish what was begun and close everything."""
        if self._driver is not None:
            await self._driver.close()


def _kind(url: str) -> tuple[str, str]:
    """The kind of database, and the rest of the address."""
    scheme, colon, rest = url.partition("://")
    kind = {"postgres": "postgresql"}.get(scheme.partition("+")[0], scheme.partition("+")[0])
    known = colon and (kind == "postgresql" or (kind == "sqlite" and rest[:1] in ("", "/")))
    if not known or "\0" in url or not is_unicode(url):
        raise StoreError(
            "The address of the database is not understood. Set TOOLGATE_DATABASE_URL to something like "
            "sqlite:////home/me/toolgate.db or postgresql://user@host/name."
        )
    return kind, rest


def file_of(url: str) -> str | None:
    """The file of a SQLite database; None for a server and for a database in memory."""
    kind, rest = _kind(url)
    path = rest[1:].partition("?")[0]
    if kind != "sqlite" or path in ("", ":memory:"):
        return None
    return os.path.abspath(os.path.expanduser(path))


def _driver(url: str, feed: Feed) -> Driver:
    kind, rest = _kind(url)
    if kind == "postgresql":
        try:
            from toolgate.sessions.postgres import Postgres
        except ModuleNotFoundError as error:
            raise StoreError("PostgreSQL needs more packages: pip install 'toolgate[postgres]'.") from error
        try:
            return Postgres(f"postgresql+asyncpg://{rest}", feed)
        except ValueError as error:  # it quotes a part of the address, which may be a part of the password
            raise StoreError(
                "The address of the database is not understood. TOOLGATE_DATABASE_URL is "
                "postgresql://user:password@host:port/name; write %40 for @, %3A for : and %2F for / in a password."
            ) from error
    from toolgate.sessions.sqlite import SqliteFile, SqliteMemory

    path = file_of(url)
    return SqliteMemory(feed) if path is None else SqliteFile(path, feed)
