"""Runs a hook: a short command of the user, with text in, text out, and a deadline for its whole process group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping

from toolgate.process.read_only import memory_file
from toolgate.process.start import FinishedProcess, start_with_protocol

MAX_OUTPUT = 65_536
_CLOSING = 1.0
"""Seconds that the pipes of a killed hook may take to close."""


async def run_hook(
    command: str, stdin: bytes, *, timeout: float, directory: str, environment: Mapping[str, str]
) -> FinishedProcess:
    """Run a command line of the user's shell to its end.

    Raises `OSError`, `TimeoutError` if it or a child of it does not end in time, and `ValueError` if it prints too
    much. Whatever happens, its process group is ended.
    """
    given = memory_file(stdin)  # a file and not a pipe: a hook need not read it
    starting = asyncio.ensure_future(
        start_with_protocol(
            _Hook,
            ["/bin/sh", "-c", command],
            stdin=given,
            cwd=directory,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    )
    try:
        transport, hook = await asyncio.shield(starting)
    except asyncio.CancelledError:  # a start that is interrupted leaves a process behind
        with contextlib.suppress(OSError):
            await _end(*await starting)
        raise
    finally:
        os.close(given)
    try:
        async with asyncio.timeout(timeout):
            await hook.ended
    finally:
        await _end(transport, hook)
    code = transport.get_returncode()
    return FinishedProcess(-signal.SIGKILL if code is None else code, bytes(hook.stdout), bytes(hook.stderr))


async def _end(transport: asyncio.SubprocessTransport, hook: _Hook) -> None:
    """End the process group and close the pipes, after the process has been waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    await asyncio.wait([hook.exited], timeout=_CLOSING)
    transport.close()
    await asyncio.wait([hook.closed], timeout=_CLOSING)


class _Hook(asyncio.SubprocessProtocol):
    """Collects what a hook prints. `ended` is done when it has ended and both of its pipes are closed."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.stdout, self.stderr = bytearray(), bytearray()
        self._waiting = {"process", 1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        stream = self.stdout if fd == 1 else self.stderr
        stream += data
        if len(stream) > MAX_OUTPUT and not self.ended.done():
            self.ended.set_exception(ValueError(f"it printed more than {MAX_OUTPUT} bytes"))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._over(fd)

    def process_exited(self) -> None:
        self.exited.set_result(None)
        self._over("process")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def _over(self, part: int | str) -> None:
        self._waiting.discard(part)
        if not self._waiting and not self.ended.done():
            self.ended.set_result(None)
