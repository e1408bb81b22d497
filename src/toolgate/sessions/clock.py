"""The database's clock, which all processes on several machines share."""

from __future__ import annotations

from typing import Final

NOW: Final = "EXTRACT(EPOCH FROM clock_timestamp())"
"""Seconds since 1970, as SQL for PostgreSQL."""
