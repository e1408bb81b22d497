"""A listening socket that answers clients also when the process has no descriptor left for them."""

from __future__ import annotations

import contextlib
import errno
import resource
import socket
import time
from typing import Any

from toolgate.log import logger

_RESERVED = 64
"""Descriptors that stay free for turns, files and the database."""
_AT_ONCE = 32
"""Clients that are turned away before others get their turn."""
_LOG_EVERY = 10.0
_PAUSE = 0.01
"""Seconds to wait if not even one descriptor can be had: otherwise the event loop would try without end."""
_ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: 39\r\n\r\nToo many connections; try again later.\n"
)


class Listener(socket.socket):
    """Accepts clients as long as there are descriptors to spare; the others get a status 503 at once.

    asyncio alone would log one line and schedule one retry for every place in the backlog, and accept nobody meanwhile.
    """

    def __init__(self, listening: socket.socket, *, encrypted: bool) -> None:
        """Takes the socket over. `encrypted`: clients expect TLS, so they cannot be told anything in plain text."""
        super().__init__(listening.family, listening.type, listening.proto, fileno=listening.detach())
        self._encrypted = encrypted
        self._spare: socket.socket | None = socket.socket()
        self._turned_away = 0
        self._logged = -_LOG_EVERY

    def accept(self) -> tuple[socket.socket, Any]:
        """The next client that there is a descriptor for; `BlockingIOError` if there is none now."""
        for _ in range(_AT_ONCE):
            try:
                connection, address = super().accept()
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                self._accept_with_spare()
                continue
            if connection.fileno() < _most():
                return connection, address
            self._turn_away(connection)
        raise BlockingIOError

    def _accept_with_spare(self) -> None:
        """Free one descriptor for as long as it takes to turn a client away."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None
        try:
            self._turn_away(super().accept()[0])
            self._spare = socket.socket()
        except BlockingIOError:
            with contextlib.suppress(OSError):  # somebody else was quicker: the next client finds out
                self._spare = socket.socket()
            raise
        except OSError:
            time.sleep(_PAUSE)
            raise BlockingIOError from None

    def _turn_away(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # it may have gone already
            connection.setblocking(False)
            if not self._encrypted:
                connection.send(_ANSWER)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65_536)  # what was not read would make the system drop the answer
        self._turned_away += 1
        now = time.monotonic()
        if now - self._logged >= _LOG_EVERY:
            self._logged = now
            logger("gateway").warning("no_descriptor_left", turned_away=self._turned_away, limit=_most())

    def close(self) -> None:
        """Stop listening."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None
        super().close()


def _most() -> int:
    """Descriptors from this number on are not for clients."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit - min(_RESERVED, limit // 4)
