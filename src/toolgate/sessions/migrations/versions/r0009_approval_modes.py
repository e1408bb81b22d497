"""The approval mode of a session, and which of the offered rules an answer picked."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
