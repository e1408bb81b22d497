"""Starts the sandboxes of one session: through the socket gate, from a fork server if it can."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolgate.process.start import EMPTY, Process, start_process
from toolgate.sandbox.fork_server import ForkedProcess, ForkServers
from toolgate.sandbox.layer import Layer
from toolgate.sandbox.native_layers import NativeLayer
from toolgate.sandbox.socket_gate import socket_gate
from toolgate.sandbox.view import View

_STANDARD = 3
"""Descriptors below it are standard streams. A host without its own may have given their numbers to something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program in a sandbox."""

    view: View
    program: Sequence[str]
    """Its words; the first is an absolute path."""
    environment: Mapping[str, str]
    streams: tuple[int, int, int]
    """Standard input (or `EMPTY`), output and error."""
    passed: tuple[int, ...]
    """Descriptors that the program gets under their own numbers."""
    control: int = -1
    """Where the sandbox's first process takes one program after another from, instead of `program`; see `reusable`."""


class Launcher:
    """What starts the sandboxes of a session."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._native = layer if isinstance(layer, NativeLayer) else None
        self._servers = ForkServers()

    async def warm_up(self, *, network: bool) -> None:
        """Start a fork server if the layer can use one, and wait until it is ready."""
        if self._native is not None:
            await self._servers.warm_up(self._way(network=network))

    @property
    def ends_with(self) -> signal.Signals:
        """The signal that makes the outer process of a sandbox end everything at once."""
        return self._layer.ends_with

    def can_reuse(self, root: str) -> bool:
        """Whether sandboxes can run one program after another, if programs can write `root`."""
        return self._layer.can_reuse(root)

    def start(self, launch: Launch, info: int) -> Process | ForkedProcess:
        """Start a program in its sandbox. The PID of the namespace's first process is written to `info`.

        Raises `OSError`.
        """
        return self._forked(launch, info) or self._started(launch, info)

    def _way(self, *, network: bool) -> Callable[..., Process]:
        """Return how processes are started: connections are checked unless the command has the host's network."""
        return socket_gate().start_process if self._layer.gated and not network else start_process

    def _forked(self, launch: Launch, info: int) -> ForkedProcess | None:
        standard = {number: fd for number, fd in enumerate(launch.streams) if fd != EMPTY}
        same = {fd: fd for fd in (info, *launch.passed, *launch.view.sources)}
        if self._native is None or min(same) < _STANDARD:
            return None
        asked = {
            "order": self._native.order(launch.view, launch.control),
            "info": info,
            "parent": os.getpid(),
            "program": list(map(os.fsencode, launch.program)),
            "environment": {os.fsencode(name): os.fsencode(value) for name, value in launch.environment.items()},
        }
        return self._servers.fork(self._way(network=launch.view.network), asked, standard | same)

    def _started(self, launch: Launch, info: int) -> Process:
        wrapper = self._layer.wrap(launch.view, info, launch.control)
        stdin, stdout, stderr = launch.streams
        try:
            return self._way(network=launch.view.network)(
                [*wrapper.argv, *launch.program],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(*launch.passed, *wrapper.fds, *wrapper.sources, info),
                env=dict(launch.environment),
                cwd="/",
            )
        finally:
            for fd in wrapper.fds:
                os.close(fd)

    def close(self) -> None:
        """End the fork servers. What they have started continues."""
        self._servers.close()
