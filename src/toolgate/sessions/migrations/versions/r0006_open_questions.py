"""Indexes that find the open and the remembered questions of a session among all that it ever had."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the indexes."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
