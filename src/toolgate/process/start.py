"""Starts processes: the only module that uses `subprocess`."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

AnyProtocol = TypeVar("AnyProtocol", bound=asyncio.SubprocessProtocol)

EMPTY = subprocess.DEVNULL
"""Empty standard input."""
PIPE = subprocess.PIPE
Process = subprocess.Popen[bytes]


class FinishedProcess(NamedTuple):
    """A process that has ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def start_process(argv: Sequence[str], **options: Any) -> Process:
    """Start a process with the options of `subprocess.Popen`. Raises `OSError`."""
    return subprocess.Popen(argv, **options)


def run_briefly(
    argv: Sequence[str],
    *,
    timeout: float,
    stdin: bytes = b"",
    pass_fds: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
) -> FinishedProcess:
    """Run a short program to its end. Raises `OSError`, and `TimeoutError` if it does not end in time."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            timeout=timeout,
            pass_fds=pass_fds,
            env=environment,
            cwd=directory,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"it did not end within {timeout:g} s") from None
    return FinishedProcess(done.returncode, done.stdout, done.stderr)


async def start_with_pipes(argv: Sequence[str], **options: Any) -> asyncio.subprocess.Process:
    """Start a process with pipes for its standard streams. Raises `OSError`."""
    return await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, **options)


async def start_with_protocol(
    protocol: Callable[[], AnyProtocol], argv: Sequence[str], **options: Any
) -> tuple[asyncio.SubprocessTransport, AnyProtocol]:
    """Start a process with pipes and pass its output to a protocol. Raises `OSError`. The caller closes it."""
    return await asyncio.get_running_loop().subprocess_exec(protocol, *argv, **options)
