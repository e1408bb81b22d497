"""How the rooms of this package talk to a database: units of work, run by a driver in one transaction each.

A unit is a plain function of a transaction. The same units run on SQLite (in its writer's thread) and on PostgreSQL
(through SQLAlchemy's asynchronous engine), so that there is one logic and one conformance suite.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from toolgate.sessions.schema import Dialect

T = TypeVar("T")
Row = tuple[Any, ...]


class Transaction(Protocol):
    """What a unit may do. SQL is written with the placeholders `?1`, `?2`, …"""

    dialect: Dialect

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Run a statement and return everything that it answers."""
        ...

    def row(self, sql: str, *values: Any) -> Row | None:
        """Run a statement and return its first row."""
        ...

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def many(self, sql: str, rows: list[Row]) -> None:
        """Run a statement once for each row of values."""
        ...

    def insert(self, sql: str, *values: Any) -> int:
        """Run an `INSERT` of one row into a table with an `id` of its own, and return that."""
        ...

    def clock(self, session_id: str) -> float:
        """Seconds on the clock that leases are measured with: the same for everyone who uses this database.

        The session's row is locked first: a lease that someone else was given while this waited is in the past.
        """
        ...

    def touched(self, session_id: str, seq: int) -> None:
        """Remember that this session has events up to this number; its followers are told after the commit."""
        ...


Unit = Callable[[Transaction], T]


class Driver(Protocol):
    """One kind of database."""

    @property
    def polls(self) -> float | None:
        """Seconds after which a follower looks for what other processes wrote; None where there are no others."""
        ...

    def write(self, unit: Unit[T]) -> Awaitable[T]:
        """Run a unit in a transaction and answer when it is durable.

        What the unit raises is raised here, and then it has written nothing. A unit MUST NOT change anything but the
        database, because it may be run again after a rollback.
        """
        ...

    def read(self, unit: Unit[T]) -> Awaitable[T]:
        """Run a unit that writes nothing."""
        ...

    async def listen(self) -> None:
        """From now on, hear of what other processes write, if the database tells."""
        ...

    async def migrate(self) -> None:
        """Bring the schema to this version's. MUST leave the old schema or the new one, whatever happens."""
        ...

    async def close(self) -> None:
        """Finish what was begun, then let go of everything. May be called twice."""
        ...
