"""A listening socket that still answers clients when the process runs out of file descriptors."""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from typing import Any

from toolgate.log import logger

_RESERVED = 64
"""File descriptors reserved for turns, files and the database."""
_BATCH = 32
"""Clients that are refused in a row before the event loop continues."""
_LOG_EVERY = 10.0
_PAUSE = 0.01
"""Seconds to wait if no descriptor is free, so that the event loop does not spin."""
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: 39\r\n\r\nToo many connections; try again later.\n"
)


class Listener(socket.socket):
    """Accepts clients while there are enough file descriptors; refuses others with status 503 at once.

    asyncio alone would log one line and schedule one retry per place in the backlog, and accept nobody meanwhile.
    """

    def __init__(self, listening: socket.socket, *, encrypted: bool) -> None:
        """Take over the socket. `encrypted`: clients expect TLS, so they cannot be answered in plain text."""
        super().__init__(listening.family, listening.type, listening.proto, fileno=listening.detach())
        self._encrypted = encrypted
        self._spare: socket.socket | None = socket.socket()
        self._refused = 0
        self._logged = -_LOG_EVERY

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept the next client. Raises `BlockingIOError` if there is none or no descriptor for it."""
        for _ in range(_BATCH):
            try:
                connection, address = super().accept()
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                self._accept_with_spare()
                continue
            if connection.fileno() < _first_reserved():
                return connection, address
            self._refuse(connection)
        raise BlockingIOError

    def _accept_with_spare(self) -> None:
        """Use the reserved descriptor to refuse one client."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None
        try:
            self._refuse(super().accept()[0])
            self._spare = socket.socket()
        except BlockingIOError:
            with contextlib.suppress(OSError):  # another thread took the descriptor; the next client notices
                self._spare = socket.socket()
            raise
        except OSError:
            time.sleep(_PAUSE)
            raise BlockingIOError from None

    def _refuse(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # the client may have disconnected
            connection.setblocking(False)
            if not self._encrypted:
                connection.send(_REFUSAL)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65_536)  # the system drops the response if there is unread input
        self._refused += 1
        now = time.monotonic()
        if now - self._logged >= _LOG_EVERY:
            self._logged = now
            logger("gateway").warning("no_descriptor_left", turned_away=self._refused, limit=_first_reserved())

    def close(self) -> None:
        """Stop listening."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None
        super().close()


def _first_reserved() -> int:
    """Return the number of the first file descriptor that clients do not get."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit - min(_RESERVED, limit // 4)
