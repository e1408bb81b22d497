"""The layers that need only Python: namespaces with Landlock, Landlock alone, and none."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, final

from toolgate.process.start import run_briefly
from toolgate.protocol.plan import Access
from toolgate.sandbox.layer import Wrapper, gaps, guarantees, init_order, sockets_for
from toolgate.sandbox.socket_gate import socket_gate
from toolgate.sandbox.supervisor.seccomp import can_filter, command_filter
from toolgate.sandbox.supervisor_call import supervisor_call
from toolgate.sandbox.trial import run_trial
from toolgate.sandbox.view import SHARED_BYTES, SMALL_BYTES, View
from toolgate.workspace.oserrors import is_shortage

_MIN_LANDLOCK = 3
"""Before version 3, Landlock does not prevent truncating a file."""
_SCOPES = 6
_SIZES = {"tmpfs": str(SMALL_BYTES), "shm": str(SHARED_BYTES)}
_TOO_WIDE = (
    ".toolgate is writable, and with it the outputs of other sessions",
    "modes, owners, times and attributes of all files of this user can be changed",
)
_PRIORITIES = "the priority of this user's other processes can be lowered"

Mode = Literal["namespaces", "landlock", "off", "probe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What the supervisor's probe found to work."""

    namespaces: bool
    landlock: int
    seccomp: bool


@final
class NativeLayer:
    """Confines with the supervisor. It is final, because a fork server is asked for `order` and not for `wrap`."""

    def __init__(self, mode: Mode, landlock: int = 0) -> None:
        self.name = "off" if mode == "off" else "landlock"
        self.mode = mode
        self.mounts = mode == "namespaces"
        self.ends_with = signal.SIGTERM
        self._landlock = landlock

    def refuses(self, access: Access) -> str | None:
        """Return why not: Landlock alone cannot protect a path inside a writable directory."""
        if self.mode == "landlock" and access == "write":
            return "without user namespaces, .git cannot be protected inside a writable root"
        return None

    def can_reuse(self, root: str) -> bool:
        """Whether a sandbox can run one program after another: with namespaces, whose first process can end all."""
        return self.mode == "namespaces"

    def wrap(self, view: View, info_fd: int, control_fd: int = -1) -> Wrapper:
        """Return the supervisor's command, with its order on a descriptor."""
        wrapper = supervisor_call(self.order(view, control_fd), info_fd)
        return Wrapper(wrapper.argv, wrapper.fds, view.sources)

    def order(self, view: View, control_fd: int = -1) -> Mapping[str, Any]:
        """Return what the supervisor is to do."""
        return {
            **({} if control_fd < 0 else init_order(view, control_fd)),
            "mode": self.mode,
            "mounts": [
                (mount.kind, mount.target, _SIZES.get(mount.kind, mount.source), mount.source_fd)
                for mount in view.mounts
            ],
            "base": view.base,
            "network": view.network,
            "join": view.joins,
            "directory": view.directory,
            "terminal": view.terminal,
            "grants": view.grants if self._landlock >= _MIN_LANDLOCK else (),
            **self._filter(view),
            "sysctl": {"user/max_user_namespaces": "0", "kernel/pid_max": str(view.processes)},
        }

    def _filter(self, view: View) -> dict[str, object]:
        """Return the order's system call filter, if there is one for this mode and machine."""
        if self.mode == "off" or not can_filter():
            return {}
        if self.mode == "namespaces":
            return {"filter": _filter_for(sockets_for(view, gated=self.gated))}
        sockets = "all" if view.network else "none"
        return {"filter": _filter_for(sockets, alone=True, attributes=view.access != "read")}

    @property
    def joins(self) -> bool:
        """Whether commands can share a network: with namespaces."""
        return self.mode == "namespaces"

    def join_trial(self, _fds: tuple[int, int]) -> Wrapper | None:
        """Return None: the supervisor itself has made such namespaces in its probe."""
        return None

    @property
    def gated(self) -> bool:
        """Whether it starts through the socket gate: with namespaces. Landlock alone allows no connecting sockets."""
        return self.mode == "namespaces" and socket_gate().works

    def enforced(self, access: Access) -> tuple[str, ...]:
        """Return what is enforced in this mode."""
        if self.mode == "namespaces":
            return guarantees(access)
        if self.mode == "off":
            return ("processes end with the command",)
        if access == "full":
            return ("homes and keys hidden", "no keyrings", "no privileges", "processes end with the command")
        return (
            "root read-only",
            "modes, owners, times and attributes of files unchanged",
            "homes and keys unreadable",
            "no sockets",
            "no keyrings",
            "no shared memory of other processes",
            "no privileges",
            "processes end with the command",
        )

    def missing(self, access: Access) -> tuple[str, ...]:
        """Return what is not enforced in this mode."""
        if self.mode == "namespaces":
            return gaps()
        if self.mode == "off":
            return ("everything but resource limits: commands run with all rights of the runtime's user",)
        loose = () if self._landlock >= _SCOPES else ("signals to the user's other processes are possible",)
        writable = _TOO_WIDE if access == "full" else ()
        return (*writable, *loose, "the names of other processes and of hidden files are visible", _PRIORITIES)


@cache
def _filter_for(sockets: str, *, alone: bool = False, attributes: bool = True) -> bytes:
    """Return a filter. It is made here, once: the supervisor would make it anew before every command."""
    return command_filter(os.uname().machine, sockets=sockets, alone=alone, attributes=attributes)


def supervised(directory: str, info_fd: int) -> Wrapper:
    """Return the supervisor's command without confinement: it only adopts and ends what a program leaves behind."""
    return supervisor_call({"mode": "off", "directory": directory, "grants": (), "network": True}, info_fd)


def probe() -> Kernel:
    """Return what works on this machine for this user. It is tried once per process."""
    return _probe(os.geteuid())


@cache
def _probe(_user: int) -> Kernel:
    """Return what works.

    Raise `OSError` if the system is out of a resource, and `ToolError` if the trial times out: neither is cached.
    """
    try:
        found = json.loads(run_trial(_run_probe))
        return Kernel(namespaces=bool(found["namespaces"]), landlock=found["landlock"], seccomp=bool(found["seccomp"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        if is_shortage(error):
            raise
        return Kernel(namespaces=False, landlock=0, seccomp=False)


def _run_probe(timeout: float) -> bytes:
    """Run the supervisor's probe and return what it prints."""
    fds = list(os.pipe())
    try:
        wrapper = supervisor_call({"mode": "probe"}, fds[1])
        fds += wrapper.fds
        return run_briefly(wrapper.argv, timeout=timeout, pass_fds=(*wrapper.fds, fds[1])).stdout
    finally:
        for fd in fds:
            os.close(fd)


def unconfined(_writable: tuple[str, ...] = (), _bubblewrap: str | None = None) -> NativeLayer:
    """No sandbox: commands run with all rights of the runtime's user."""
    return NativeLayer("off")


def find_native(_writable: tuple[str, ...] = (), _bubblewrap: str | None = None) -> NativeLayer | None:
    """Return the best of these layers that works."""
    found = probe()
    if found.namespaces:
        return NativeLayer("namespaces", found.landlock)
    if found.landlock >= _MIN_LANDLOCK and found.seccomp:
        return NativeLayer("landlock", found.landlock)
    return None
