"""Turns on other machines: their whole outputs, and what their commands print while they run."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
