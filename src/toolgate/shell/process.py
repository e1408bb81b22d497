"""One shell process in its sandbox. It is started in advance, gets one command, and ends with all its children."""

from __future__ import annotations

import asyncio
import errno
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from toolgate.process.descriptors import Descriptors
from toolgate.process.start import EMPTY
from toolgate.sandbox.launcher import Launch, Launcher
from toolgate.sandbox.layer import Layer
from toolgate.sandbox.reusable import ReusableSandbox, SandboxedProgram
from toolgate.sandbox.running import RunningSandbox
from toolgate.sandbox.state_pipe import StatePipe
from toolgate.sandbox.view import View
from toolgate.shell import bash_script
from toolgate.shell.capture import Capture
from toolgate.shell.console import Console
from toolgate.shell.state import ShellState
from toolgate.shell.state_dump import BadDump
from toolgate.system import fcntl, termios

_PIPE = 1 << 20
_READ_BYTES = 1 << 17
_MAX_READS = 4
_SHORT_READ = 256
"""Bytes of a read after which hardly more is there; if there is, the loop calls again."""
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which the fcntl module of 3.11 has only on some builds
_KILL_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellStart:
    """What a shell is started with."""

    layer: Layer
    view: View
    environment: Mapping[str, str]
    limits: Mapping[str, int]
    state: StatePipe
    """Where the shell writes its state when it ends. The shell opens it by its path in the view."""
    launcher: Launcher
    sandbox: ReusableSandbox | None
    """An idle sandbox with this view. Without one, the shell gets a sandbox of its own."""
    groups: tuple[int, ...]
    """Where the shell joins its control groups."""
    bash: str
    """The absolute path of the shell."""
    console: Console | None = None
    """Where the command's input comes from. Without one it is empty."""


class ShellProcess:
    """A bash that waits for its state, and then for its command."""

    def __init__(self, start: ShellStart) -> None:
        self._loop = asyncio.get_running_loop()
        self._base = [name.encode() for name in start.environment]
        self._state = start.state
        self.view = start.view
        self.environment = start.environment
        self.layer = start.layer
        self.console = start.console
        self.loaded: ShellState | None = None
        self._fds = Descriptors(self._loop)
        self._reused = start.sandbox
        self._program: SandboxedProgram | None = None
        """The shell as a program in a sandbox that is used again."""
        self._is_up = False
        self._is_checked = False
        self.refusal = ""
        """Why the shell was ended before it got a command; empty otherwise."""
        self.is_starved = False
        """Whether it was ended because there was no memory for its output."""
        self._command_text: bytes | None = None
        """The command, until the shell is running."""
        try:
            self._sandbox = self._spawn(start)
        except BaseException:
            self._fds.close()
            raise
        self.ended = self._sandbox.ended if self._program is None else self._program.ended
        self._loop.add_reader(self._up, self._on_started)

    def _spawn(self, start: ShellStart) -> RunningSandbox:
        state, self._state_fd = self._fds.pipe()
        self._waiting, self._command_fd = self._fds.pipe()
        stdin, stdout, stderr = self._streams(start.console)
        self._up, up = self._fds.pipe()
        self._inherited = (state, self._waiting)
        text = bash_script.prelude(
            groups=start.groups,
            up_fd=up,
            state_fd=state,
            command_fd=self._waiting,
            state_pipe=start.view.state_pipe,
            limits=start.limits,
        )
        launch = Launch(
            view=start.view,
            program=[start.bash, "--norc", "--noprofile", "-c", text, "bash"],
            environment=start.environment,
            streams=(stdin, stdout, stderr),
            passed=(*self._inherited, up, *start.groups),
        )
        sandbox = self._in_sandbox(launch, start)
        for fd in (state, stdin, stdout, stderr, up):
            self._fds.drop(fd)
        for fd in (self.stdout, self.stderr, self._state_fd, self._command_fd):
            os.set_blocking(fd, False)
        if not self._has_terminal:
            _enlarge(self.stdout)
        return sandbox

    def _in_sandbox(self, launch: Launch, start: ShellStart) -> RunningSandbox:
        """Start the shell in the sandbox that is to be used again, or in a new one."""
        if self._reused is None:
            return RunningSandbox(start.launcher, launch, self._check_view)
        standard = {number: fd for number, fd in enumerate(launch.streams) if fd != EMPTY}
        passed = {fd: fd for fd in launch.passed}
        self._program = self._reused.run(launch.program, launch.environment, standard | passed)
        return self._reused.running

    def _streams(self, console: Console | None) -> tuple[int, int, int]:
        """Make what the command's standard streams are, and what is read from them and written to them here."""
        self.stderr, stderr = self._fds.pipe()
        if console is None or console.kind == "pipe":
            self.stdout, stdout = self._fds.pipe()
        if console is None:
            return EMPTY, stdout, stderr
        if console.kind == "pipe":
            stdin, target = self._fds.pipe()
        else:
            target, stdin = map(self._fds.keep, os.openpty())
            self.stdout, stdout = target, stdin
            self._fds.drop(stderr)
            stderr = stdin
        os.set_blocking(target, False)
        console.attach(target, partial(self._fds.drop, target))
        return stdin, stdout, stderr

    @property
    def _has_terminal(self) -> bool:
        return self.console is not None and self.console.kind == "tty"

    def load(self, state: ShellState) -> None:
        """Send the shell its state. Call it once, before `feed`."""
        self.loaded = state
        self._fds.send(self._state_fd, bash_script.load(state, self._base))

    def feed(self, command: bytes) -> None:
        """Send the shell its command. Call it once."""
        if self.loaded is None:
            raise RuntimeError("a command before its state")
        self._command_text = bash_script.command(command, self.loaded, self._inherited, terminal=self._has_terminal)
        if self._reused is None:
            self._sandbox.stop_watching()
        if self._is_checked:
            self._send_command()

    def _on_started(self) -> None:
        """Note that the shell runs. Its supervisor now ends with this process, so the shell may get its command."""
        self._loop.remove_reader(self._up)
        self._fds.drop(self._up)
        self._is_up = True
        self._check_view()

    def _check_view(self) -> None:
        """Send the command after the view was found to be as planned."""
        if not self._is_up or self.refusal or self._is_checked:
            return
        if self.view.checks:
            if self._sandbox.first is None:
                return
            waits = self._command_text is None or self._reused is not None
            self.refusal = self._sandbox.view_difference(self.view.checks, watch=waits)
        if self.refusal:
            self.kill()
            return
        self._is_checked = True
        if self._command_text is not None:
            self._send_command()

    def _send_command(self) -> None:
        text, self._command_text = self._command_text, None
        self._fds.send(self._command_fd, text or b"")

    def taken(self) -> bool:
        """Whether the shell has taken its command. If not, it is still starting or loading its state."""
        unread = fcntl.ioctl(self._waiting, termios.FIONREAD, struct.pack("i", 0))
        return self._is_checked and self._command_text is None and unread == struct.pack("i", 0)

    def capture(self, stdout: Capture, stderr: Capture) -> None:
        """Capture the output from now on."""
        for fd, capture in ((self.stdout, stdout), (self.stderr, stderr)):
            self._loop.add_reader(fd, partial(self._read_available, fd, capture))

    def _read_available(self, fd: int, capture: Capture) -> None:
        """Read what is there, in portions, so that other tasks can run."""
        for _ in range(_MAX_READS):
            if self._read_once(fd, capture) < _SHORT_READ:
                return

    def _read_once(self, fd: int, capture: Capture) -> int:
        """Read once and return the number of bytes. At the end of the output, stop watching the descriptor."""
        try:
            chunk = os.read(fd, _READ_BYTES)
            if chunk:
                capture.feed(chunk)
                return len(chunk)
        except BlockingIOError:
            return 0
        except OSError as error:  # how a terminal ends that no process has open any more
            if error.errno != errno.EIO:
                raise
        except MemoryError:  # its output cannot be read, so it would wait forever
            self.is_starved = True
            self.kill()
        self._loop.remove_reader(fd)
        return 0

    def drain(self, stdout: Capture, stderr: Capture) -> None:
        """Read what is left in the pipes, without waiting for processes that hold them open."""
        for fd, capture in ((self.stdout, stdout), (self.stderr, stderr)):
            self._loop.remove_reader(fd)
            for _ in range(_PIPE // _READ_BYTES + 1):  # a process that escaped may write faster than it is read
                if not self._read_once(fd, capture):
                    break

    @property
    def writes(self) -> bool:
        """Whether it can write the root and no person has approved its command."""
        return self.view.access == "write" or (self.layer.name == "off" and self.view.access == "read")

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return not self.ended.done()

    @property
    def has_other_mounts(self) -> bool:
        """Whether its view has lost a mount since it was checked."""
        return self._sandbox.has_other_mounts

    async def end_rest(self) -> None:
        """End the processes that the command has left running, and wait for them."""
        if self._program is None:
            self.kill()
        await self.gone()

    async def gone(self) -> None:
        """Wait until no process of the command is left. Several tasks may wait."""
        if self._program is not None:
            await asyncio.wait([self._program.gone])
            if self._program.gone.result():
                return
        await self._sandbox.gone()

    async def pause(self) -> bool:
        """Stop all processes inside until `resume`; whether nothing runs any more."""
        return await self._sandbox.pause()

    def resume(self) -> None:
        """Continue all processes inside."""
        self._sandbox.resume()

    def kill(self) -> None:
        """Kill everything inside, with the sandbox."""
        if self._reused is None or self._program is None:
            self._sandbox.kill()
        elif not self._program.gone.done():
            self._reused.kill()

    async def stop(self, grace: float) -> None:
        """Send TERM, then KILL after `grace` seconds, and wait until nothing is left."""
        if self.alive and grace > 0:
            self._sandbox.terminate()
            await asyncio.wait([self.ended], timeout=grace)
        self.kill()
        await asyncio.wait([self.ended], timeout=_KILL_TIMEOUT)
        await asyncio.wait_for(self.gone(), _KILL_TIMEOUT)

    def dumped(self) -> bytes:
        """Return what the shell wrote when it ended; empty if it wrote nothing. Raises `BadDump` if it was too much."""
        text = self._state.text() if self._program is None else self._program.state
        if text is None:
            raise BadDump("it is larger than 4 MiB")
        return text

    def retire_sandbox(self) -> None:
        """Let the sandbox end with this command: it may run for long."""
        if self._reused is not None:
            self._reused.retire()

    def close(self) -> None:
        """Close every descriptor, and end what still runs. A sandbox that is used again stays."""
        if self._reused is None or self._program is None:
            self._sandbox.close()
        else:
            self._reused.end(self._program)
        if self.console is not None:
            self.console.close()
        for fd in (self.stdout, self.stderr, self._up):
            if fd in self._fds:
                self._loop.remove_reader(fd)
        self._fds.close()


def _enlarge(fd: int) -> None:
    try:
        fcntl.fcntl(fd, _SET_PIPE_SIZE, _PIPE)
    except OSError:  # over the user's limit for pipes: the default size works too
        return
