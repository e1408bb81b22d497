"""The log of gateways and workers: one line an event, on stderr, without secrets."""

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


_OFTEN_ENOUGH = 10.0
"""Seconds between two lines about the same trouble."""


class _Masked(logging.Formatter):
    """Lines in which no secret of the runtime's own is to be read, tracebacks included."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: str = mask(super().format(record), self._secrets)
        return line.replace("\n", "\n  ")


class _Seldom(logging.Filter):
    """Says the same trouble once in a while: while a database is away, all who need it complain all the time."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, tuple[float, int]] = {}
        """What: when it was said last, and how often it was not said since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        if record.name.startswith("toolgate.distributed") and "error=" in record.getMessage():
            what = record.getMessage().partition(" ")[0]
        elif record.name == "dbos":
            what = f"{record.filename}:{record.lineno}"
        else:
            return True
        now = time.monotonic()
        last, left_out = self._said.get(what, (-_OFTEN_ENOUGH, 0))
        if now - last < _OFTEN_ENOUGH:
            self._said[what] = last, left_out + 1
            return False
        self._said[what] = now, 0
        more = f" ({left_out} more like this since the last line)" if left_out else ""
        record.msg, record.args = f"{' '.join(record.getMessage().split())}{more}", ()
        return True


@contextlib.contextmanager
def logging_to_stderr(settings: Settings) -> Iterator[None]:
    """Log to stderr for as long as the block lasts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Masked(secrets_of(settings)))
    handler.addFilter(_Seldom())
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
