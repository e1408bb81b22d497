"""Migrates the schema of a PostgreSQL database to this version with Alembic. It is imported on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolgate.extras import optional_imports
from toolgate.sessions import faults
from toolgate.sessions.schema import HEAD, REVISIONS

with optional_imports():
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).parent / "migrations"


def check_known(revision: str | None, address: str) -> None:
    """Raise if the database was made by a version of Toolgate that this one does not know."""
    if revision is not None and revision not in REVISIONS:
        raise faults.newer(address, revision)


def upgrade(connection: Connection, target: str = HEAD) -> None:
    """Run the revisions that are missing, in the transaction that the connection is in."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)

    def missing(current: Any, _context: object) -> Any:
        return script._upgrade_revs(target, current)  # noqa: SLF001 - Alembic's own commands do the same

    with EnvironmentContext(config, script, fn=missing, destination_rev=target) as environment:
        environment.configure(connection=connection, transactional_ddl=True)
        environment.run_migrations()
