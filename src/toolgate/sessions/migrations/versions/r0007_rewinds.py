"""Which messages a rewind took out of the transcript, and which sessions are archived."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
