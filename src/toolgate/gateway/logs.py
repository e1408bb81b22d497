"""The gateway's log: one line an event, on stderr, without secrets."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolgate.runtime.redaction import mask, secrets_of

if TYPE_CHECKING:
    from toolgate.settings import Settings


class _Masked(logging.Formatter):
    """Lines in which no secret of the runtime's own is to be read, tracebacks included."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: str = mask(super().format(record), self._secrets)
        return line.replace("\n", "\n  ")


@contextlib.contextmanager
def logging_to_stderr(settings: Settings) -> Iterator[None]:
    """Log to stderr for as long as the block lasts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Masked(secrets_of(settings)))
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
