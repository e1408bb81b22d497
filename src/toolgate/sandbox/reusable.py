"""A sandbox that is used again: its first process runs one program after another, and ends what each leaves running."""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import socket
import struct
from collections.abc import Mapping, Sequence

from toolgate.process import tree
from toolgate.process.descriptors import max_open_files
from toolgate.process.start import EMPTY
from toolgate.sandbox.launcher import Launch, Launcher
from toolgate.sandbox.layer import memory_file
from toolgate.sandbox.running import RunningSandbox
from toolgate.sandbox.state_pipe import StatePipe
from toolgate.sandbox.supervisor.init import EXIT_CODE, NOTHING_RUNS, SPOILT
from toolgate.sandbox.supervisor.messages import READY
from toolgate.sandbox.supervisor_call import MARSHAL
from toolgate.sandbox.view import View

_KILLED = 137


class SandboxedProgram:
    """A program in a sandbox that is used again."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ended: asyncio.Future[int] = loop.create_future()
        """Its exit code."""
        self.gone: asyncio.Future[bool] = loop.create_future()
        """Whether nothing runs in the sandbox any more. False: the sandbox is ending, and all that is in it."""
        self.state: bytes | None = b""
        """What it wrote into the sandbox's state pipe, when `gone` is known; None if it was too much."""


class ReusableSandbox:
    """A sandbox for one program at a time.

    It ends by itself if a program has left anything behind that the next one would notice: the sandbox's first process
    compares what it finds with what it found at the start.
    """

    def __init__(self, launcher: Launcher, view: View, state: StatePipe, files: tuple[object, ...] = ()) -> None:
        """Start it. It owns `state`. `files` identify what its mounts show and cover. Raises `OSError`."""
        self.view = view
        self.files = files
        self.state = state
        self.max_open_files = max_open_files()
        """Its limit, which was this process's limit when it started."""
        self.is_idle = False
        """Whether it waits for a program."""
        self.was_ready = False
        """Whether it has ever waited for a program. Otherwise it cannot be set up here."""
        self._program: SandboxedProgram | None = None
        self.is_retired = False
        """Whether it ends, at the latest after the program that runs in it."""
        self._is_closed = False
        self._loop = asyncio.get_running_loop()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self.running = RunningSandbox(launcher, _launch(view, theirs.fileno()))
        except BaseException:
            self._control.close()
            raise
        self._control.setblocking(False)
        self._loop.add_reader(self._control, self._hear)

    @property
    def is_lost(self) -> bool:
        """Whether its first process has ended, or is ending."""
        return self._control.fileno() < 0

    @property
    def is_clearing_up(self) -> bool:
        """Whether a program has just ended, and the sandbox can be used in a moment."""
        return self.was_ready and not self.is_idle and self._program is None and not self.is_retired

    def run(
        self, program: Sequence[str], environment: Mapping[str, str], descriptors: Mapping[int, int]
    ) -> SandboxedProgram:
        """Start a program. `descriptors` maps the numbers that it sees to open descriptors. Raises `OSError`."""
        if not self.is_idle:
            raise RuntimeError("a program in a sandbox that is not idle")
        asked = {
            "program": list(map(os.fsencode, program)),
            "environment": {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            "descriptors": list(descriptors),
        }
        order = memory_file("order", marshal.dumps(asked, MARSHAL))
        try:
            fds = struct.pack(f"{len(descriptors) + 1}i", order, *descriptors.values())
            self._control.sendmsg([READY], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        finally:
            os.close(order)
        self.is_idle = False
        self._program = SandboxedProgram(self._loop)
        return self._program

    def _hear(self) -> None:
        """Read what the first process says, up to its next pause or its end."""
        while True:
            try:
                said = self._control.recv(16)
            except BlockingIOError:
                return
            except ConnectionResetError:
                said = b""
            if not said:
                self._lose()
                return
            self._note(said)
            if self.is_lost:
                return

    def _note(self, said: bytes) -> None:
        kind, program = said[:1], self._program
        if kind == READY:
            self.is_idle, self.was_ready = not self.is_retired, True
        elif kind == EXIT_CODE and program is not None:
            program.ended.set_result(struct.unpack("i", said[1:])[0])
        elif kind == NOTHING_RUNS and program is not None:
            self._finish(program, ended=False)
            if self.is_retired:
                self.close()
        elif kind == SPOILT:
            self._lose()

    def _lose(self) -> None:
        if self.is_lost:
            return
        self.running.stop_watching()
        self._loop.remove_reader(self._control)
        self._control.close()
        self.is_idle = False
        if self._program is not None:
            if not self._program.ended.done():
                self._program.ended.set_result(_KILLED)
            self._finish(self._program, ended=True)

    def _finish(self, program: SandboxedProgram, *, ended: bool) -> None:
        """Note that no process of a program is left, or that none will be, because the sandbox has `ended`."""
        self._program = None
        program.state, is_as_before = self.state.take()
        self.is_retired |= not is_as_before
        program.gone.set_result(not ended)

    def end(self, program: SandboxedProgram) -> None:
        """Kill a program and what it has started, if it still runs. The sandbox stays."""
        if self._program is program and self.running.first is not None:
            tree.signal_below(self.running.first, signal.SIGKILL)

    def kill(self) -> None:
        """Kill everything inside, and never use the sandbox again."""
        self.is_retired, self.is_idle = True, False
        self.running.kill()

    def retire(self) -> None:
        """End the sandbox when nothing runs in it any more."""
        self.is_retired = True
        if self._program is None:
            self.close()

    def close(self) -> None:
        """End the sandbox with all that is in it."""
        if self._is_closed:
            return
        self._is_closed = True
        self.running.close()
        self._lose()
        self.state.close()


def _launch(view: View, control: int) -> Launch:
    return Launch(
        view=view, program=(), environment={}, streams=(EMPTY, EMPTY, EMPTY), passed=(control,), control=control
    )
