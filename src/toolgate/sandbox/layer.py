"""A layer: one way to confine a command, and what it can promise."""

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
    """The program that confines, to be put before the shell's own words."""

    argv: list[str]
    fds: tuple[int, ...] = ()
    """Descriptors that it needs; whoever starts it passes them on and closes them."""
    sources: tuple[int, ...] = ()
    """Descriptors of what it mounts, to be passed on; the view closes them."""


class Layer(Protocol):
    """Turns a view into a program that confines.

    MUST NOT claim in `enforced` what the kernel does not hold. MUST list in `missing` what its name lets people expect.
    """

    name: str
    mounts: bool
    """Whether it shows commands a view of their own; otherwise they see the host's paths."""
    ends_with: signal.Signals
    """What makes the outer process end everything at once."""

    @property
    def gated(self) -> bool:
        """Whether its processes are started through the socket gate; see `gate`."""
        ...

    def refuses(self, access: Access) -> str | None:
        """Why this access cannot be enforced here; None when it can."""
        ...

    def wrap(self, view: View, info_fd: int) -> Wrapper:
        """The confining program. It writes `{"child-pid": N}` to `info_fd` if the tree ends with that process."""
        ...

    def enforced(self, access: Access) -> tuple[str, ...]:
        """What holds."""
        ...

    def missing(self, access: Access) -> tuple[str, ...]:
        """What does not hold, although one may expect it."""
        ...


def memory_file(name: str, text: bytes) -> int:
    """A descriptor to read a text from, without a file."""
    fd = os.memfd_create(name)
    os.write(fd, text)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def sockets_for(view: View, *, gated: bool) -> str:
    """What sockets a command may make; see `helper.seccomp.socket_rules`."""
    return "all" if view.network else "gated" if gated else "own"


def gaps() -> tuple[str, ...]:
    """What no layer can hold on a machine whose system calls cannot be filtered."""
    return () if can_filter() else ("unix sockets of the host, other kinds of network and its keyrings are reachable",)


def guarantees(access: Access) -> tuple[str, ...]:
    """What every layer with a view of its own holds."""
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
