"""The log of gateways and workers: one line per event, on stderr, with secrets masked."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolgate.text.redaction import mask, secrets_of

if TYPE_CHECKING:
    from toolgate.settings import Settings


_REPEAT_SECONDS = 10.0
"""Minimum seconds between two lines about the same problem."""


class _MaskingFormatter(logging.Formatter):
    """Masks Toolgate's own secrets in log lines and tracebacks."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        line: str = mask(super().format(record), self._secrets)
        return line.replace("\n", "\n  ")


class _RepeatFilter(logging.Filter):
    """Limits repeated messages: while a database is unavailable, every user of it logs the same problem."""

    def __init__(self) -> None:
        super().__init__()
        self._last_logged: dict[str, tuple[float, int]] = {}
        """Event → when it was last logged, and how many were left out since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        if record.name.startswith("toolgate.distributed") and "error=" in record.getMessage():
            problem = record.getMessage().partition(" ")[0]
        elif record.name == "pgqueuer":
            problem = f"{record.filename}:{record.lineno}"
        else:
            return True
        now = time.monotonic()
        last, left_out = self._last_logged.get(problem, (-_REPEAT_SECONDS, 0))
        if now - last < _REPEAT_SECONDS:
            self._last_logged[problem] = last, left_out + 1
            return False
        self._last_logged[problem] = now, 0
        more = f" ({left_out} more like this since the last line)" if left_out else ""
        record.msg, record.args = f"{' '.join(record.getMessage().split())}{more}", ()
        return True


@contextlib.contextmanager
def logging_to_stderr(settings: Settings) -> Iterator[None]:
    """Log to stderr while the block runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_MaskingFormatter(secrets_of(settings)))
    handler.addFilter(_RepeatFilter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("toolgate").setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
