"""A layer: one way to confine a command, and what it guarantees."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Protocol

from toolgate.protocol.plan import Access
from toolgate.sandbox.supervisor.seccomp import can_filter
from toolgate.sandbox.view import View


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The command that confines, to be put before the shell's argv."""

    argv: list[str]
    fds: tuple[int, ...] = ()
    """Descriptors that it needs. The caller that starts it passes them on and closes them."""
    sources: tuple[int, ...] = ()
    """Descriptors of what it mounts. They are passed on; the view closes them."""


class Layer(Protocol):
    """Turns a view into a command that confines.

    MUST NOT claim in `enforced` what the kernel does not enforce. MUST list in `missing` what users would expect from
    its name.
    """

    name: str
    mounts: bool
    """Whether commands get their own view of the file system. Otherwise they see the host's paths."""
    ends_with: signal.Signals
    """The signal that makes the outer process end everything at once."""

    @property
    def gated(self) -> bool:
        """Whether its processes are started through the socket gate; see `socket_gate`."""
        ...

    @property
    def joins(self) -> bool:
        """Whether its commands can join a network that exists already; see `network`."""
        ...

    def join_trial(self, fds: tuple[int, int]) -> Wrapper | None:
        """Return a command that ends with 0 if a sandbox can be set up in that network; None if that is known."""
        ...

    def refuses(self, access: Access) -> str | None:
        """Return why this access cannot be enforced here; None if it can."""
        ...

    def can_reuse(self, root: str) -> bool:
        """Whether a sandbox can run one program after another, if programs can write `root`; see `reusable`."""
        ...

    def wrap(self, view: View, info_fd: int, control_fd: int = -1) -> Wrapper:
        """Return the confining command. It writes `{"child-pid": N}` to `info_fd` if that process ends all others.

        With a `control_fd` it needs no program: its first process receives one after another from there.
        """
        ...

    def enforced(self, access: Access) -> tuple[str, ...]:
        """Return what is enforced."""
        ...

    def missing(self, access: Access) -> tuple[str, ...]:
        """Return what is not enforced, although users may expect it."""
        ...


def memory_file(name: str, text: bytes) -> int:
    """Return a descriptor of an in-memory file with this text."""
    fd = os.memfd_create(name)
    os.write(fd, text)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def init_order(view: View, control_fd: int) -> dict[str, object]:
    """Return what the first process of a sandbox that is used again needs to know; see `supervisor.init`."""
    memory = [mount.target for mount in view.mounts if mount.kind in ("tmpfs", "shm")]
    return {"control": control_fd, "memory": memory, "own_network": not view.joins and not view.network}


def sockets_for(view: View, *, gated: bool) -> str:
    """Return which sockets a command may create; see `supervisor.seccomp.socket_rules`."""
    if view.network:
        return "all"
    return "gated" if gated else "own"


def gaps() -> tuple[str, ...]:
    """Return what no layer can enforce on a machine without system call filters."""
    return () if can_filter() else ("unix sockets of the host, other kinds of network and its keyrings are reachable",)


def guarantees(access: Access) -> tuple[str, ...]:
    """Return what every layer with its own view enforces."""
    closed = ("no network", "host sockets unreachable") if can_filter() else ("no network over the internet protocol",)
    network = ("network reachable",) if access == "full" else closed
    keyrings = ("no keyrings",) if can_filter() else ()
    root = {
        "read": ("root read-only",),
        "write": ("root writable", ".git read-only but for git itself"),
        "full": ("root writable",),
    }[access]
    return (
        *root,
        ".toolgate hidden",
        "homes and keys hidden",
        "private temp and home",
        *network,
        *keyrings,
        "no privileges",
        "processes end with the command",
    )
