"""Room in SQLite's own log (`-wal`), so that commits overwrite it instead of making it longer.

A commit that makes the file longer also waits until the file system has written its journal, and on a busy disk until
it has written what others did. SQLite itself overwrites its log as soon as that has been copied into the database. So
the log is made longer with zeros in time, while nobody waits. SQLite reads its log up to the first frame that is not
whole, and zeros are none.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Final

from toolgate.sessions.connections import identity
from toolgate.sessions.files import open_log

STEP: Final = 1024 * 1024
"""Bytes that are added: about forty commits of an agent."""
_sync = getattr(os, "fdatasync", os.fsync)


class LogSpace:
    """The log of one database that this process writes to."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._end = 0
        """The size of the log when it was made longer, here or by another process."""

    def is_used_up(self) -> bool:
        """Whether a commit has made the log longer since. If it is longer by a step, another process has added room."""
        try:
            size = os.stat(f"{self._path}-wal").st_size
        except OSError:
            return False
        if size - self._end >= STEP:
            self._end = size
        return size > self._end

    def add(self, connection: sqlite3.Connection, file: tuple[int, int] | None) -> None:
        """Make the log longer. `file` is the database that the connection has opened.

        Raises `OSError` if there is no space, and SQLite's errors if another process writes.
        """
        with open_log(self._path) as log:
            connection.execute("BEGIN IMMEDIATE")  # only who has this lock writes to the log
            try:
                if identity(self._path) == file:  # else the file that was opened may be another database's log
                    self._end = log.seek(0, os.SEEK_END) + STEP
                    log.write(bytes(STEP))
            finally:
                connection.execute("ROLLBACK")
            _sync(log.fileno())
