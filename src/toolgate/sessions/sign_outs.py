"""Sign-ins of the gateway's page that have ended before their keys expired."""

from __future__ import annotations

from collections.abc import Mapping

from toolgate.sessions.database import Database
from toolgate.sessions.driver import Transaction
from toolgate.sessions.event_log import time_of

_ADD = "INSERT INTO sign_outs (id, until) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING"


async def add(database: Database, ended: Mapping[str, float]) -> None:
    """Store ended sign-ins with the time at which their last key expires; those that have expired are removed."""

    def unit(tx: Transaction) -> None:
        tx.run("DELETE FROM sign_outs WHERE until < ?1", time_of(tx))
        for key, until in ended.items():
            tx.run(_ADD, key, until)

    await database.write(unit)


async def current(database: Database) -> dict[str, float]:
    """All ended sign-ins whose keys could still be shown."""
    sql = "SELECT id, until FROM sign_outs WHERE until >= ?1"
    return await database.read(lambda tx: {row[0]: float(row[1]) for row in tx.rows(sql, time_of(tx))})
