"""Loggers: structlog over the standard logging module. Only the application configures them."""

import functools
import logging
from collections.abc import MutableMapping
from typing import Any


def _render(_logger: object, _method: str, event: MutableMapping[str, Any]) -> tuple[tuple[str], dict[str, Any]]:
    """Render `event_name key=value`, so that plain logging shows everything. Logging adds tracebacks itself."""
    name, error = event.pop("event", ""), event.pop("exc_info", None)
    line = " ".join([str(name), *(f"{key}={value!r}" for key, value in event.items())])
    return (line,), {"exc_info": error}


class _Plain:
    """Replaces structlog if it cannot be loaded, as in a process without free descriptors or memory."""

    def __init__(self, room: str) -> None:
        self._logger = logging.getLogger(f"toolgate.{room}")

    def __getattr__(self, method: str) -> Any:
        def log(event: str, **values: Any) -> None:
            arguments, options = _render(None, method, {"event": event, **values})
            getattr(self._logger, method)(*arguments, **options)

        return log


def logger(room: str) -> Any:
    """Return the logger of a room: `logger("registry").warning("event_name", key=value)`."""
    try:
        return _bound(room)
    except (OSError, MemoryError):
        return _Plain(room)


@functools.cache
def _bound(room: str) -> Any:
    import structlog

    return structlog.wrap_logger(
        logging.getLogger(f"toolgate.{room}"),
        processors=[structlog.stdlib.filter_by_level, _render],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
