"""Loggers: structlog over the standard logging module, configured by nobody but the application."""

import functools
import logging
from collections.abc import MutableMapping
from typing import Any


def _render(_logger: object, _method: str, event: MutableMapping[str, Any]) -> tuple[tuple[str], dict[str, Any]]:
    """`event_name key=value key=value`, so that plain logging shows all of it; a traceback is logging's own work."""
    name, error = event.pop("event", ""), event.pop("exc_info", None)
    line = " ".join([str(name), *(f"{key}={value!r}" for key, value in event.items())])
    return (line,), {"exc_info": error}


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
