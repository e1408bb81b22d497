"""Sessions, their log and what is derived from it."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
