"""Starts shells in their sandboxes: on demand, and one in advance while nobody waits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.protocol.plan import Access
from toolgate.shell.environment import environment, search_path
from toolgate.shell.options import ShellOptions
from toolgate.shell.process import ShellProcess, Start
from toolgate.shell.result import SandboxReport
from toolgate.shell.sandbox.layer import Layer
from toolgate.shell.sandbox.places import Places
from toolgate.shell.sandbox.view import TEMPORARY, Views
from toolgate.shell.state import ShellState


class Starter:
    """Everything that a session's shells have in common."""

    def __init__(
        self, root: str, layer: Layer, options: ShellOptions, host: Mapping[str, str], hidden: Sequence[str]
    ) -> None:
        home = os.path.realpath(host.get("HOME") or os.path.expanduser("~"))
        self.layer = layer
        self._options = options
        self.places = Places(root)
        try:
            self.views = Views(
                root,
                self.places,
                home=home,
                path=search_path(host),
                readable=options.readable,
                hidden=hidden,
                mounts=layer.mounts,
                processes=options.processes,
            )
        except BaseException:
            self.places.remove()
            raise
        self.environment = environment(
            host,
            home=self._home(home),
            temporary=TEMPORARY if layer.mounts else self.places.temporary,
            passed=options.passed_environment,
        )
        self._files: dict[ShellProcess, tuple[str, int]] = {}
        self._free: list[tuple[str, int]] = []
        self._ready: tuple[ShellProcess, ShellState] | None = None

    def _home(self, real: str) -> str:
        if self.layer.mounts:
            return self.views.home
        return real if self.layer.name == "off" else self.places.home

    def start(self, access: Access, state: ShellState, roots: Sequence[str] = ()) -> ShellProcess:
        """A shell with this state; the one that was started in advance if it fits."""
        ready = self._take_ready()
        if ready is not None:
            process, loaded = ready
            if process.alive and loaded is state and process.view.access == access and not roots:
                return process
            self.close(process)
        return self._new(access, state, roots)

    def prepare(self, access: Access, state: ShellState) -> None:
        """Start the next shell in advance."""
        self.discard()
        self._ready = self._new(access, state, ()), state

    def discard(self) -> None:
        """End the shell that was started in advance."""
        ready = self._take_ready()
        if ready is not None:
            self.close(ready[0])

    def _take_ready(self) -> tuple[ShellProcess, ShellState] | None:
        ready, self._ready = self._ready, None
        return ready

    def _new(self, access: Access, state: ShellState, roots: Sequence[str]) -> ShellProcess:
        why = self.layer.refuses(access)
        if why is not None:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f'access="{access}" cannot be enforced on this machine: {why}.',
                'Use access="read", or ask the operator to install bubblewrap.',
            )
        file = self._free.pop() if self._free else self.places.new_file("state")
        try:
            start = Start(
                layer=self.layer,
                view=self.views.view(access, file[0], roots),
                state=state,
                environment=self.environment,
                limits=self._options.ulimits,
                state_file=file[1],
            )
            process = ShellProcess(start)
        except BaseException:
            self._free.append(file)
            raise
        self._files[process] = file
        return process

    def close(self, process: ShellProcess) -> None:
        """Let go of a shell; its exchange file is used again."""
        process.close()
        file = self._files.pop(process, None)
        if file is not None:
            self._free.append(file)

    def report(self, access: Access) -> SandboxReport:
        """What is in force for an access."""
        options = self._options
        return SandboxReport(
            layer=self.layer.name,
            access=access,
            network=access == "full" or self.layer.name == "off",
            enforced=self.layer.enforced(access),
            missing=self.layer.missing(access),
            limits={
                "memory_bytes": options.memory_bytes,
                "file_bytes": options.file_bytes,
                "processes": options.processes,
            },
        )

    def shut(self) -> None:
        """End what was started in advance and remove the session's directory."""
        self.discard()
        for process in tuple(self._files):
            self.close(process)
        for _, fd in self._free:
            os.close(fd)
        self._free.clear()
        self.views.protected.close()
        self.places.remove()
