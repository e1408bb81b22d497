"""An unconfined program of the user's that talks over pipes, such as an MCP server. It ends with all its children.

Its parent is the sandbox's supervisor, without a sandbox. The supervisor adopts the processes that the program leaves
behind. It ends all of them when it is told to, and when the host process dies.
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
"""Variables that are passed on. None of them holds a secret."""
_COMPLAINTS = 4096
_CHUNK = 65_536
_TIMEOUT = 5.0
_MOMENT = 0.5


def program_environment(host: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the allowed part of the host's environment, plus what the user sets for this program."""
    passed = {name: value for name, value in host.items() if name in _PASSED or name.startswith("LC_")}
    return {**passed, **given}


class UserProgram:
    """A running program. The caller that starts one MUST `stop` it."""

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
    async def start(cls, words: Sequence[str], *, environment: Mapping[str, str], directory: str) -> UserProgram:
        """Start it. Raises `FileNotFoundError` or `NotADirectoryError` if the program or directory does not exist."""
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
        """The exit code (128 + N for signal N); None while it runs."""
        return self._process.returncode

    @property
    def complaints(self) -> str:
        """The end of its standard error."""
        return b"".join(self._said)[-_COMPLAINTS:].decode("utf-8", "replace")

    async def _listen(self) -> None:
        """Read its standard error so that it never blocks, and keep the end."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._said.append(chunk)
            self._kept += len(chunk)
            while self._kept - len(self._said[0]) >= _COMPLAINTS:
                self._kept -= len(self._said.popleft())

    async def stop(self, grace: float) -> None:
        """Close its input, then TERM, then KILL, `grace` seconds apart. Returns when all its processes have ended."""
        try:
            self.stdin.close()
            if not await self.ends_within(grace):
                tree.signal_below(self._process.pid, signal.SIGTERM)
                if not await self.ends_within(grace):
                    self._kill()
                    await self.ends_within(_TIMEOUT)
        finally:
            self._kill()
            await asyncio.wait([self._listening], timeout=_MOMENT)  # for its last output
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening

    async def ends_within(self, seconds: float) -> bool:
        """Whether it ends in time. Its output is discarded meanwhile, because it may be blocked on writing."""
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
        with suppress(ConnectionError, RuntimeError):  # another reader is active
            while await self.stdout.read(_CHUNK):
                continue

    def _kill(self) -> None:
        """Tell the supervisor to end everything now."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
