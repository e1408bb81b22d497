"""The first layer: bubblewrap, a small program that sets up namespaces. Distributions ship and audit it."""

from __future__ import annotations

import os
import signal
import stat
from functools import cache

from toolgate.process.executables import bubblewrap_candidates, find_bash, find_setsid
from toolgate.process.start import FinishedProcess, run_briefly
from toolgate.protocol.plan import Access
from toolgate.sandbox.layer import Wrapper, gaps, guarantees, init_order, memory_file, sockets_for
from toolgate.sandbox.socket_gate import socket_gate
from toolgate.sandbox.supervisor.seccomp import can_filter, command_filter
from toolgate.sandbox.supervisor_call import supervisor_call, supervisor_interpreter
from toolgate.sandbox.trial import run_trial
from toolgate.sandbox.view import SHARED_BYTES, SMALL_BYTES, Mount, View, is_below
from toolgate.workspace.oserrors import is_shortage

_NAMESPACES = ("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
_FIXED = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")


class Bubblewrap:
    """Confines with the `bwrap` program."""

    name = "bwrap"
    mounts = True
    ends_with = signal.SIGKILL

    def __init__(self, program: str, *, nested: bool, descriptors: bool = False) -> None:
        self.program = program
        self._descriptors = descriptors
        """Whether it can mount an open descriptor. Otherwise only the finished view shows what was mounted."""
        self._changes_user = bool(os.stat(program).st_mode & stat.S_ISUID)
        self.start = [program, *_NAMESPACES, *_FIXED, *(() if nested else ("--disable-userns",))]

    def refuses(self, access: Access) -> str | None:
        """Return None: it can enforce every access."""
        return None

    def can_reuse(self, root: str) -> bool:
        """Whether a sandbox can run one program after another: its first process is a Python that nobody replaces."""
        return not is_below(supervisor_interpreter(), root)

    def wrap(self, view: View, info_fd: int, control_fd: int = -1) -> Wrapper:
        """Return a bwrap command. It reads its options from a descriptor, so that `ps` shows no host paths."""
        if control_fd < 0:
            return self._wrap(view, "--info-fd", str(info_fd))
        wrapper = self._wrap(view, "--info-fd", str(info_fd), "--as-pid-1")
        try:
            init = supervisor_call({"mode": "init", **init_order(view, control_fd)}, info_fd)
        except OSError:
            for fd in wrapper.fds:
                os.close(fd)
            raise
        return Wrapper([*wrapper.argv, *init.argv], (*wrapper.fds, *init.fds), wrapper.sources)

    def _wrap(self, view: View, *options: str) -> Wrapper:
        words = [*options]
        if not view.network and not view.joins:
            words.append("--unshare-net")
        for mount in view.mounts:
            words += self._option(mount)
        words += ["--chdir", view.directory]
        filters = self._filter(view)
        words += [word for fd in filters for word in ("--seccomp", str(fd))]
        try:
            fd = memory_file("arguments", os.fsencode("\0".join([*words, ""])))
        except OSError:
            for one in filters:
                os.close(one)
            raise
        sources = tuple(mount.source_fd for mount in view.mounts if mount.source_fd >= 0 and self._descriptors)
        outer = Wrapper([]) if not view.joins else supervisor_call({"mode": "join", "join": view.joins}, 2)
        setsid = find_setsid() if view.terminal else None
        within = [setsid, "-c"] if setsid is not None else []
        argv = [*outer.argv, *self.start, "--args", str(fd), "--", *within]
        return Wrapper(argv, (fd, *filters, *outer.fds), (*sources, *view.joins))

    @property
    def joins(self) -> bool:
        """Whether commands can share a network. A setuid bwrap has no privileges inside another user namespace."""
        return not self._changes_user

    def join_trial(self, fds: tuple[int, int]) -> Wrapper | None:
        """Return a command that sets up a sandbox in a network."""
        outer = supervisor_call({"mode": "join", "join": fds}, 2)
        return Wrapper([*outer.argv, *self.start, *_TRIAL_VIEW, find_bash((), "/usr/bin:/bin"), "-c", ":"], outer.fds)

    def _option(self, mount: Mount) -> list[str]:
        if mount.source_fd >= 0 and self._descriptors:
            return ["--ro-bind-fd" if mount.kind == "ro" else "--bind-fd", str(mount.source_fd), mount.target]
        return _option(mount)

    def _filter(self, view: View) -> tuple[int, ...]:
        """Return a descriptor with the system call filter, if there is one for this machine."""
        if not can_filter():
            return ()
        return (memory_file("filter", _filter_for(sockets_for(view, gated=self.gated))),)

    @property
    def gated(self) -> bool:
        """Whether it starts through the socket gate. A setuid bwrap cannot: the gate forbids changing the user."""
        return not self._changes_user and socket_gate().works

    def enforced(self, access: Access) -> tuple[str, ...]:
        """Return what the namespaces and mounts enforce."""
        return guarantees(access)

    def missing(self, access: Access) -> tuple[str, ...]:
        """Return nothing if system calls can be filtered."""
        return gaps()


@cache
def _filter_for(sockets: str) -> bytes:
    return command_filter(os.uname().machine, sockets=sockets)


def _option(mount: Mount) -> list[str]:
    match mount.kind:
        case "ro":
            return ["--ro-bind", mount.source, mount.target]
        case "rw":
            return ["--bind", mount.source, mount.target]
        case "symlink":
            return ["--symlink", mount.source, mount.target]
        case "seal":
            return ["--remount-ro", mount.target]
        case "tmpfs":
            return ["--size", str(SMALL_BYTES), "--tmpfs", mount.target]
        case "shm":
            return ["--perms", "1777", "--size", str(SHARED_BYTES), "--tmpfs", mount.target]
        case kind:
            return [f"--{kind}", mount.target]


_TRIAL_VIEW = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", *_option(Mount("shm", "/dev/shm")))


def find_bubblewrap(writable: tuple[str, ...] = (), setting: str | None = None) -> Bubblewrap | None:
    """Return the first bwrap that can set up a sandbox. Each is tried once per process and user."""
    candidates = bubblewrap_candidates(setting, writable)
    return next((layer for path in candidates if (layer := _try_bubblewrap(path, os.geteuid())) is not None), None)


@cache
def _try_bubblewrap(program: str, _user: int) -> Bubblewrap | None:
    """Return the layer if it works here.

    Raise `OSError` if the system is out of a resource, and `ToolError` if the trial times out: neither is cached.
    """
    shell = find_bash((), "/usr/bin:/bin")
    descriptors = _binds_descriptors(program)
    for nested in (False, True):
        layer = Bubblewrap(program, nested=nested, descriptors=descriptors)
        trial = [*layer.start, "--unshare-net", *_TRIAL_VIEW, shell, "-c", ":"]
        done = _run(trial)
        if done is None:
            return None
        if done.exit_code == 0:
            return layer
    return None


def _binds_descriptors(program: str) -> bool:
    """Whether this bwrap can mount descriptors. It closes them before the command runs."""
    done = _run([program, "--help"])
    return done is not None and b"--ro-bind-fd" in done.stdout


def _run(argv: list[str]) -> FinishedProcess | None:
    """Run one trial; None if the program cannot be started."""
    try:
        return run_trial(lambda timeout: run_briefly(argv, timeout=timeout))
    except OSError as error:
        if is_shortage(error):
            raise
        return None
