"""The model of a session, how full its context is, and the summary of its older messages."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns and the table."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
