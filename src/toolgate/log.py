"""Loggers: structlog over the standard logging module, configured by nobody but the application."""

import functools
import logging
from collections.abc import MutableMapping
from typing import Any


def _render(_logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
    """`event_name key=value key=value`, so that plain logging shows all of it."""
    name = event.pop("event", "")
    return " ".join([str(name), *(f"{key}={value!r}" for key, value in event.items())])


@functools.cache
def logger(room: str) -> Any:
    """The logger of a room; `logger("registry").warning("event_name", key=value)`."""
    import structlog

    return structlog.wrap_logger(
        logging.getLogger(f"toolgate.{room}"),
        processors=[structlog.stdlib.filter_by_level, _render],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
