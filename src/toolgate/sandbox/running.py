"""A running sandbox: its outer process, the first process of its namespace, and the ways to end or stop all of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterable

from toolgate.process import tree
from toolgate.process.descriptors import Descriptors
from toolgate.sandbox.launcher import Launch, Launcher
from toolgate.sandbox.mount_watch import MountWatch
from toolgate.sandbox.view import RedirectableMount
from toolgate.sandbox.view_check import view_difference

_PAUSE_TRIES = 500
_PAUSE_ROUND = 10
_PAUSE_STEP = 0.002


class RunningSandbox:
    """A program that was started in its sandbox."""

    def __init__(self, launcher: Launcher, launch: Launch, found: Callable[[], None] = lambda: None) -> None:
        """Start it. `found` is called when the first process of its namespace is known. Raises `OSError`."""
        self._loop = asyncio.get_running_loop()
        self._ends_with = launcher.ends_with
        self._found = found
        self._fds = Descriptors(self._loop)
        self._inner = -1
        """A pidfd of the namespace's first process. Killing that ends everything in the namespace."""
        self.first: int | None = None
        """PID of the namespace's first process, once it is known."""
        self._told = b""
        self._mounts: MountWatch | None = None
        self._empty: asyncio.Future[None] | None = None
        try:
            self._info, info = self._fds.pipe()
            self._process = launcher.start(launch, info)
            self._handle = self._fds.keep(os.pidfd_open(self._process.pid))
            self._fds.drop(info)
        except BaseException:
            self._fds.close()
            raise
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._handle, self._reap)
        self._loop.add_reader(self._info, self._learn)

    @property
    def pid(self) -> int:
        """PID of the outer process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return not self.ended.done()

    def _reap(self) -> None:
        self._loop.remove_reader(self._handle)
        code = self._process.wait()
        if not self.ended.done():
            self.ended.set_result(code if code >= 0 else 128 - code)

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
                self.first = pid
        except (OSError, ValueError, KeyError):  # it failed before there was one
            return
        self._found()

    def view_difference(self, checks: Iterable[RedirectableMount], *, watch: bool) -> str:
        """Return how the view of the shell inside differs from the plan; empty if it does not.

        With `watch`, `has_other_mounts` notices from then on what changes.
        """
        shells = [] if self.first is None else tree.children(self.first)
        if not shells:
            return "the sandbox ended while it was being checked"
        if watch and self._mounts is None:
            try:
                self._mounts = MountWatch(shells[0])
            except OSError as error:
                return f"the sandbox cannot be watched: {error.strerror}"
        return view_difference(shells[0], checks)

    @property
    def has_other_mounts(self) -> bool:
        """Whether a mount has gone since the view was checked: what it covered or hid can be seen and changed."""
        return self._mounts is not None and self._mounts.changes() > 0

    def stop_watching(self) -> None:
        """Let go of its mounts. Whoever lets go last waits for the kernel to take them apart, up to 150 ms."""
        mounts, self._mounts = self._mounts, None
        if mounts is not None:
            mounts.close()

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
            if not any(map(tree.is_running, (self.pid, *tree.descendants(self.pid)))):
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
            tree.signal_below(self.pid, number)

    def terminate(self) -> None:
        """Ask all processes inside to end. Supervisors get no signal, because they end with the command."""
        supervisors = tree.children(self.pid) if self._inner in self._fds else []
        tree.signal_below(self.pid, signal.SIGTERM, skip=frozenset(supervisors))

    def kill(self) -> None:
        """Kill everything inside."""
        self.stop_watching()
        self._end_unannounced()
        for handle, number in ((self._inner, signal.SIGKILL), (self._handle, self._ends_with)):
            if handle in self._fds:
                try:
                    signal.pidfd_send_signal(handle, number)
                except ProcessLookupError:  # it ended by itself
                    continue

    def _end_unannounced(self) -> None:
        """Kill what the wrapper has started but not reported yet. It may not end with its parent so early."""
        if self._inner in self._fds or self._handle not in self._fds or self._ends_with != signal.SIGKILL:
            return
        try:
            signal.pidfd_send_signal(self._handle, signal.SIGSTOP)
            os.waitid(os.P_PIDFD, self._handle, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        except (ProcessLookupError, ChildProcessError):  # it ended by itself
            return
        tree.signal_below(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End what still runs, and close its descriptors."""
        self.kill()
        for fd in (self._handle, self._info, self._inner):
            if fd in self._fds:
                self._loop.remove_reader(fd)
        if self._empty is not None and not self._empty.done():
            self._empty.set_result(None)
        if self.alive:
            self._process.wait()
            self.ended.set_result(137)
        self._fds.close()
