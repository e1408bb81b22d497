"""Alembic's directory: a module in `versions` for each revision in `toolgate.sessions.schema`."""
