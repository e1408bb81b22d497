"""One shell process in its sandbox. It is started in advance, gets one command, and ends with all its children."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from toolgate.process import tree
from toolgate.process.descriptors import Descriptors
from toolgate.process.start import EMPTY
from toolgate.sandbox.launcher import Launch, Launcher
from toolgate.sandbox.layer import Layer
from toolgate.sandbox.state_pipe import StatePipe
from toolgate.sandbox.view import View
from toolgate.sandbox.view_check import view_difference
from toolgate.shell import bash_script
from toolgate.shell.capture import Capture
from toolgate.shell.console import Console
from toolgate.shell.state import ShellState
from toolgate.shell.state_dump import BadDump
from toolgate.system import fcntl, termios

_PIPE = 1 << 20
_GULP = 1 << 17
_GULPS = 4
_SHORT = 256
"""Bytes of a read after which hardly more is there; if there is, the loop calls again."""
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which the fcntl module of 3.11 has only on some builds
_KILL_TIMEOUT = 5.0
_PAUSE_TRIES = 500
_PAUSE_ROUND = 10
_PAUSE_STEP = 0.002


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
        self._inner = -1
        """A pidfd of the namespace's first process. Killing that ends everything in the namespace."""
        self._told = b""
        self._supervisor: int | None = None
        """PID of the namespace's first process, once it is known."""
        self._is_up = False
        self._is_checked = False
        self.refusal = ""
        """Why the shell was ended before it got a command; empty otherwise."""
        self.is_starved = False
        """Whether it was ended because there was no memory for its output."""
        self._order: bytes | None = None
        """The command, until the shell is running."""
        self._empty: asyncio.Future[None] | None = None
        try:
            self._spawn(start)
        except BaseException:
            self._fds.close()
            raise
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._handle, self._reap)
        self._loop.add_reader(self._info, self._learn)
        self._loop.add_reader(self._up, self._came_up)

    def _spawn(self, start: ShellStart) -> None:
        state, self._state_fd = self._fds.pipe()
        self._waiting, self._command_fd = self._fds.pipe()
        stdin, stdout, stderr = self._streams(start.console)
        self._info, info = self._fds.pipe()
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
        self._process = start.launcher.start(
            Launch(
                view=start.view,
                program=[start.bash, "--norc", "--noprofile", "-c", text, "bash"],
                environment=start.environment,
                streams=(stdin, stdout, stderr),
                passed=(*self._inherited, up, *start.groups),
                info=info,
            )
        )
        self._handle = self._fds.keep(os.pidfd_open(self._process.pid))
        for fd in (state, stdin, stdout, stderr, info, up):
            self._fds.drop(fd)
        for fd in (self.stdout, self.stderr, self._state_fd, self._command_fd):
            os.set_blocking(fd, False)
        if not self._has_terminal:
            _enlarge(self.stdout)

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
        self._order = bash_script.command(command, self.loaded, self._inherited, terminal=self._has_terminal)
        if self._is_checked:
            self._give()

    def _came_up(self) -> None:
        """The shell runs, so its supervisor now ends with this process: it may have its command."""
        self._loop.remove_reader(self._up)
        self._fds.drop(self._up)
        self._is_up = True
        self._check_view()

    def _check_view(self) -> None:
        """Send the command after the view was found to be as planned."""
        if not self._is_up or self.refusal or self._is_checked:
            return
        if self.view.checks:
            if self._supervisor is None:
                return
            self.refusal = view_difference(self._supervisor, self.view.checks)
        if self.refusal:
            self.kill()
            return
        self._is_checked = True
        if self._order is not None:
            self._give()

    def _give(self) -> None:
        order, self._order = self._order, None
        self._fds.send(self._command_fd, order or b"")

    def taken(self) -> bool:
        """Whether the shell has taken its command. If not, it is still starting or loading its state."""
        unread = fcntl.ioctl(self._waiting, termios.FIONREAD, struct.pack("i", 0))
        return self._is_checked and self._order is None and unread == struct.pack("i", 0)

    def capture(self, stdout: Capture, stderr: Capture) -> None:
        """Capture the output from now on."""
        for fd, capture in ((self.stdout, stdout), (self.stderr, stderr)):
            self._loop.add_reader(fd, partial(self._swallow, fd, capture))

    def _swallow(self, fd: int, capture: Capture) -> None:
        """Read what is there, in portions, so that other tasks can run."""
        for _ in range(_GULPS):
            if self._gulp(fd, capture) < _SHORT:
                return

    def _gulp(self, fd: int, capture: Capture) -> int:
        """Read once; return how many bytes there were."""
        try:
            chunk = os.read(fd, _GULP)
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
            for _ in range(_PIPE // _GULP + 1):  # a process that escaped may write faster than it is read
                if not self._gulp(fd, capture):
                    break

    def _reap(self) -> None:
        self._loop.remove_reader(self._handle)
        code = self._process.wait()
        if not self.ended.done():
            self.ended.set_result(code if code >= 0 else 128 - code)

    @property
    def writes(self) -> bool:
        """Whether it can write the root and no person has approved its command."""
        return self.view.access == "write" or (self.layer.name == "off" and self.view.access == "read")

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return not self.ended.done()

    def _learn(self) -> None:
        """Open the namespace's first process while its parent still runs, so that the PID cannot have been reused."""
        chunk = os.read(self._info, 4096)
        self._told += chunk
        if chunk and b"}" not in self._told:
            return
        self._loop.remove_reader(self._info)
        self._fds.drop(self._info)
        try:
            if self.alive:
                pid = json.loads(self._told)["child-pid"]
                self._inner = self._fds.keep(os.pidfd_open(pid))
                self._supervisor = pid
        except (OSError, ValueError, KeyError):  # it failed before there was one
            return
        self._check_view()

    async def gone(self) -> None:
        """Wait until no process of the sandbox is left. Several tasks may wait."""
        if self._inner not in self._fds:
            return
        if self._empty is None:
            self._empty = self._loop.create_future()
            self._loop.add_reader(self._inner, self._emptied, self._empty)
        await asyncio.wait([self._empty])

    def _emptied(self, empty: asyncio.Future[None]) -> None:
        self._loop.remove_reader(self._inner)
        empty.set_result(None)

    async def pause(self) -> bool:
        """Stop all processes inside until `resume`; whether nothing runs any more.

        A process that has just started another one waits until that one runs (`vfork`), and cannot be stopped before:
        so all go on for a moment now and then.
        """
        for tried in range(1, _PAUSE_TRIES):
            if not any(map(tree.is_running, (self._process.pid, *tree.descendants(self._process.pid)))):
                return True
            if tried % _PAUSE_ROUND == 0:
                self.resume()
                await asyncio.sleep(_PAUSE_STEP)
            self._signal_all(signal.SIGSTOP)
            await asyncio.sleep(_PAUSE_STEP)
        return False

    def resume(self) -> None:
        """Continue all processes inside."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        """Signal the process and everything below it. While it starts, there may be nothing below it."""
        if self._handle in self._fds and self.alive:
            signal.pidfd_send_signal(self._handle, number)
            tree.signal_below(self._process.pid, number)

    def terminate(self) -> None:
        """Ask all processes inside to end. Supervisors get no signal, because they end with the command."""
        pid = self._process.pid
        supervisors = tree.children(pid) if self._inner in self._fds else []
        tree.signal_below(pid, signal.SIGTERM, skip=frozenset(supervisors))

    def kill(self) -> None:
        """Kill everything inside."""
        self._end_unannounced()
        for handle, number in ((self._inner, signal.SIGKILL), (self._handle, self.layer.ends_with)):
            if handle in self._fds:
                try:
                    signal.pidfd_send_signal(handle, number)
                except ProcessLookupError:  # it ended by itself
                    continue

    def _end_unannounced(self) -> None:
        """Kill what the wrapper has started but not reported yet. It may not end with its parent so early."""
        if self._inner in self._fds or self._handle not in self._fds or self.layer.ends_with != signal.SIGKILL:
            return
        try:
            signal.pidfd_send_signal(self._handle, signal.SIGSTOP)
            os.waitid(os.P_PIDFD, self._handle, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        except (ProcessLookupError, ChildProcessError):  # it ended by itself
            return
        tree.signal_below(self._process.pid, signal.SIGKILL)

    async def stop(self, grace: float) -> None:
        """Send TERM, then KILL after `grace` seconds, and wait until nothing is left."""
        if self.alive and grace > 0:
            self.terminate()
            await asyncio.wait([self.ended], timeout=grace)
        self.kill()
        await asyncio.wait([self.ended], timeout=_KILL_TIMEOUT)
        await asyncio.wait_for(self.gone(), _KILL_TIMEOUT)

    def dumped(self) -> bytes:
        """Return what the shell wrote when it ended; empty if it wrote nothing. Raises `BadDump` if it was too much."""
        text = self._state.text()
        if text is None:
            raise BadDump("it is larger than 4 MiB")
        return text

    def close(self) -> None:
        """Close every descriptor, and end what still runs."""
        self.kill()
        if self.console is not None:
            self.console.close()
        for fd in (self.stdout, self.stderr, self._handle, self._info, self._up, self._inner):
            if fd in self._fds:
                self._loop.remove_reader(fd)
        if self._empty is not None and not self._empty.done():
            self._empty.set_result(None)
        if self.alive:
            self._process.wait()
            self.ended.set_result(137)
        self._fds.close()


def _enlarge(fd: int) -> None:
    try:
        fcntl.fcntl(fd, _SET_PIPE_SIZE, _PIPE)
    except OSError:  # over the user's limit for pipes: the default size works too
        return
