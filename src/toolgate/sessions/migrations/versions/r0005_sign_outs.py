"""Sign-ins of the page that have ended."""

from typing import cast

from alembic import op

from toolgate.sessions.schema import Dialect, statements

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table."""
    for statement in statements(revision, cast("Dialect", op.get_bind().dialect.name)):
        op.get_bind().exec_driver_sql(statement)
