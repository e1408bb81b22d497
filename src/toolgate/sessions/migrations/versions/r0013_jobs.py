"""The job of a turn in the queue, and the index that a claim needs."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0013"
down_revision = "0010"


def upgrade() -> None:
    """Add the column and the index."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
