"""The pictures of results, and which message names which."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column and the table."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
