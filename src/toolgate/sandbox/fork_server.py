"""A process that has loaded the supervisor, and forks one for every command: no Python is started per command."""

from __future__ import annotations

import asyncio
import errno
import marshal
import os
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from toolgate.log import logger
from toolgate.process.descriptors import max_open_files
from toolgate.process.start import EMPTY, Process
from toolgate.sandbox.layer import memory_file
from toolgate.sandbox.supervisor.messages import MAX_DESCRIPTORS, READY
from toolgate.sandbox.supervisor.serve import SYS_CLONE
from toolgate.sandbox.supervisor_call import MARSHAL, supervisor_call

_TIMEOUT = 10.0
"""Seconds within which a server must be ready, and within which it must fork."""


class ForkedProcess:
    """A supervisor that a server has forked. It is a child of this process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def wait(self) -> int:
        """Wait for its end and return its exit code, negative for a signal."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


class ForkServer:
    """A running server. Close it once."""

    def __init__(self, start: Callable[..., Process]) -> None:
        """Start it with `start`, in this thread: it ends with the thread that started it, and so do its forks."""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.is_ready = False
        self.max_open_files = max_open_files()
        """Its limit. Descriptors whose numbers this process gets after it was raised cannot be placed in a fork."""
        try:
            call = supervisor_call({"mode": "serve"}, theirs.fileno())
            try:
                self._process = start(
                    call.argv,
                    stdin=EMPTY,
                    stdout=EMPTY,
                    stderr=EMPTY,
                    pass_fds=(*call.fds, theirs.fileno()),
                    env={},
                    cwd="/",
                )
            finally:
                for fd in call.fds:
                    os.close(fd)
        except BaseException:
            self._control.close()
            raise
        finally:
            theirs.close()
        self._control.setblocking(False)

    @property
    def pid(self) -> int:
        """The server's own PID."""
        return self._process.pid

    async def ready(self) -> bool:
        """Wait until it can fork; False if it has ended or takes too long."""
        if not self.is_ready:
            with suppress(OSError, TimeoutError):
                said = asyncio.get_running_loop().sock_recv(self._control, len(READY))
                self.is_ready = await asyncio.wait_for(said, _TIMEOUT) == READY
            self._control.settimeout(_TIMEOUT)
        return self.is_ready

    def fork(self, asked: Mapping[str, Any], descriptors: Mapping[int, int]) -> ForkedProcess:
        """Return a new supervisor that does what is asked.

        `descriptors` are what it gets, by the number that each has there. Raises `OSError`; then it does nothing, even
        if the server has forked: it begins when it is told to.
        """
        waiting, go = os.pipe()
        try:
            self._send(asked, waiting, descriptors)
            answer = self._control.recv(struct.calcsize("i"))
            pid = struct.unpack("i", answer)[0] if answer else -errno.ECONNRESET
            if pid < 0:
                raise OSError(-pid, os.strerror(-pid))
            os.write(go, READY)
        finally:
            os.close(waiting)
            os.close(go)
        return ForkedProcess(pid)

    def _send(self, asked: Mapping[str, Any], waiting: int, descriptors: Mapping[int, int]) -> None:
        order = memory_file("order", marshal.dumps({**asked, "descriptors": list(descriptors)}, MARSHAL))
        try:
            fds = struct.pack(f"{len(descriptors) + 2}i", order, waiting, *descriptors.values())
            self._control.sendmsg([READY], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        finally:
            os.close(order)

    def close(self) -> None:
        """End the server. Its forks continue."""
        self._control.close()
        self._process.kill()
        self._process.wait()


class ForkServers:
    """The servers of a session: one for each way to start a process, when it is needed."""

    def __init__(self) -> None:
        self._running: dict[Callable[..., Process], ForkServer] = {}
        self._awaited: set[Callable[..., Process]] = set()
        """Ways to start whose server a command waits for."""

    async def warm_up(self, start: Callable[..., Process]) -> None:
        """Make sure that there is a server for this way to start, if there can be one."""
        if os.uname().machine not in SYS_CLONE:
            return
        if start not in self._running:
            self._running[start] = ForkServer(start)
        self._awaited.add(start)
        try:
            is_ready = await self._running[start].ready()
        finally:
            self._awaited.discard(start)
        if not is_ready:
            logger("sandbox").warning("fork_server_not_ready")
            self._drop(start)

    def fork(
        self, start: Callable[..., Process], asked: Mapping[str, Any], descriptors: Mapping[int, int]
    ) -> ForkedProcess | None:
        """Return a fork, or None if there is no server: the caller then starts a supervisor by itself."""
        server = self._running.get(start)
        if server is None or not server.is_ready or len(descriptors) > MAX_DESCRIPTORS - 2:
            return None
        if server.max_open_files != max_open_files():
            self._drop(start)
            return None
        try:
            return server.fork(asked, descriptors)
        except OSError as error:
            if error.errno == errno.ETOOMANYREFS:  # other processes of this user are passing on too many descriptors
                return None
            if not isinstance(error, (ConnectionError, TimeoutError)):
                raise
            logger("sandbox").warning("fork_server_ended", error=str(error))
            self._drop(start)
            return None

    def _drop(self, start: Callable[..., Process]) -> None:
        self._running.pop(start).close()

    def close(self) -> None:
        """End the servers, except one that a command waits for."""
        for start in tuple(self._running.keys() - self._awaited):
            self._drop(start)
