"""A Toolgate of the future: one with a schema revision more, which changes tables that are in use."""

import shutil
import tempfile
from pathlib import Path

_MIGRATION = """
from alembic import op

revision, down_revision = "{revision}", "{before}"


def upgrade():
    op.get_bind().exec_driver_sql("ALTER TABLE turns ADD COLUMN mood TEXT")
    op.get_bind().exec_driver_sql("ALTER TABLE dispatches ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'")
"""


def newer(revision: str) -> None:
    """Make this process one that knows a later revision."""
    from toolgate.distributed import names
    from toolgate.sessions import migrate, postgres, schema

    before = schema.HEAD
    places = Path(tempfile.mkdtemp(prefix="toolgate-migrations-"))
    shutil.copytree(migrate.MIGRATIONS, places, dirs_exist_ok=True)
    (places / "versions" / f"r{revision}_mood.py").write_text(_MIGRATION.format(revision=revision, before=before))
    migrate.MIGRATIONS = places
    for module in (names, migrate, postgres, schema):
        module.HEAD = revision  # type: ignore[attr-defined]
    migrate.REVISIONS = schema.REVISIONS = (*schema.REVISIONS, revision)  # type: ignore[assignment, attr-defined]
    migrate.upgrade.__defaults__ = (revision,)
