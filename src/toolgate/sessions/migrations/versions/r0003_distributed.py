"""Turns on other machines: who works, what waits, and what is carried over."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
