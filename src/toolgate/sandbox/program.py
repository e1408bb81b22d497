"""A program of the user's own that talks over its pipes: not confined, and ended with everything it has started.

Its parent is the sandbox's helper without a sandbox: a process that adopts whatever the program leaves behind, ends all
of it when it is told to, and does the same when the host process dies without a word.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from toolgate.process import tree
from toolgate.process.environment import search_path
from toolgate.process.start import start_with_pipes
from toolgate.sandbox.native_layers import supervised

_PASSED = frozenset(
    "HOME LANG LANGUAGE LOGNAME PATH SHELL TERM TMPDIR TZ USER SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE "
    "NODE_EXTRA_CA_CERTS XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME".split()
)
"""What a program needs to find its way; a key of somebody else's is never among it."""
_COMPLAINTS = 4096
_CHUNK = 65_536
_PATIENCE = 5.0
_MOMENT = 0.5


def program_environment(host: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """An allow list of the host's environment, and what the user gives this program on top of it."""
    passed = {name: value for name, value in host.items() if name in _PASSED or name.startswith("LC_")}
    return {**passed, **given}


class Program:
    """A running program. Whoever starts one MUST `stop` it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._said: deque[bytes] = deque()
        self._kept = 0
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, words: Sequence[str], *, environment: Mapping[str, str], directory: str) -> Program:
        """Start it; `FileNotFoundError` or `NotADirectoryError` say what is not there."""
        absolute = os.pathsep.join(search_path(environment))
        found = shutil.which(words[0], path=absolute)
        if found is None:
            raise FileNotFoundError(f"there is no program {words[0]!r} on PATH")
        if not os.path.isdir(directory):
            raise NotADirectoryError(f"there is no directory {directory!r}")
        reader, writer = os.pipe()
        wrapper = supervised(directory, writer)
        try:
            process = await start_with_pipes(
                [*wrapper.argv, found, *words[1:]],
                pass_fds=(*wrapper.fds, writer),
                env=dict(environment),
                cwd="/",
                limit=_CHUNK,
            )
        finally:
            for fd in (reader, writer, *wrapper.fds):
                os.close(fd)
        return cls(process)

    @property
    def exit_code(self) -> int | None:
        """How it ended (128 and the signal's number for a signal); None while it runs."""
        return self._process.returncode

    @property
    def complaints(self) -> str:
        """The end of what it has written to its standard error."""
        return b"".join(self._said)[-_COMPLAINTS:].decode("utf-8", "replace")

    async def _listen(self) -> None:
        """Read its standard error, so that it never has to wait, and keep the end of it."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._said.append(chunk)
            self._kept += len(chunk)
            while self._kept - len(self._said[0]) >= _COMPLAINTS:
                self._kept -= len(self._said.popleft())

    async def stop(self, grace: float) -> None:
        """Close its input, then TERM, then KILL, `grace` seconds apart; returns when nothing of it is left."""
        try:
            self.stdin.close()
            if not await self.ends_within(grace):
                tree.signal_below(self._process.pid, signal.SIGTERM)
                if not await self.ends_within(grace):
                    self._kill()
                    await self.ends_within(_PATIENCE)
        finally:
            self._kill()
            await asyncio.wait([self._listening], timeout=_MOMENT)  # its last words
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening

    async def ends_within(self, seconds: float) -> bool:
        """Whether it ended in time; its output is thrown away meanwhile, for it may be waiting to write."""
        waiting = asyncio.create_task(self._process.wait())
        draining = asyncio.create_task(self._drain())
        try:
            done, _ = await asyncio.wait([waiting], timeout=seconds)
            return bool(done)
        finally:
            for task in (waiting, draining):
                task.cancel()
            await asyncio.wait([waiting, draining])

    async def _drain(self) -> None:
        with suppress(ConnectionError, RuntimeError):  # another reader was there first: then it reads
            while await self.stdout.read(_CHUNK):
                continue

    def _kill(self) -> None:
        """Tell the supervisor to end everything, now."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
