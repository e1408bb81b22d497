"""Runs a hook: a short command of the user, with text in, text out, and a deadline for its whole process group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping

from toolgate.process.start import Ended, start_with_pipes

LARGEST_OUTPUT = 65_536


async def run_hook(
    command: str, stdin: bytes, *, timeout: float, directory: str, environment: Mapping[str, str]
) -> Ended:
    """Run a command line of the user's shell to its end.

    Raises `OSError`, `TimeoutError` if it or a child of it does not end in time, and `ValueError` if it prints too
    much. Whatever happens, its process group is ended.
    """
    process = await start_with_pipes(
        ["/bin/sh", "-c", command],
        cwd=directory,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    tasks = [asyncio.ensure_future(_read(stream)) for stream in (process.stdout, process.stderr)]
    sending = asyncio.ensure_future(_send(process.stdin, stdin))
    try:
        async with asyncio.timeout(timeout):
            stdout, stderr = await asyncio.gather(*tasks)
            await sending
            code = await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio closes its pipes in no other way
        await asyncio.wait([*tasks, sending], timeout=1)
        await process.wait()
        await asyncio.sleep(0.001)  # the pipes are closed in the loop's next turns
    return Ended(code, stdout, stderr)


async def _send(stream: asyncio.StreamWriter, data: bytes) -> None:
    """Write the input; a hook that does not read it is fine."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
        stream.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    content = b""
    while chunk := await stream.read(LARGEST_OUTPUT):
        content += chunk
        if len(content) > LARGEST_OUTPUT:
            raise ValueError(f"it printed more than {LARGEST_OUTPUT} bytes")
    return content
