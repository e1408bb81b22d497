"""A layer: one way to confine a command, and what it can promise."""

from __future__ import annotations

from typing import Protocol

from toolgate.protocol.plan import Access
from toolgate.shell.sandbox.plan import View


class Layer(Protocol):
    """Turns a view into a program that confines.

    MUST NOT claim in `enforced` what the kernel does not hold. MUST list in `missing` what its name lets people expect.
    """

    name: str
    mounts: bool
    """Whether it shows commands a view of their own; otherwise they see the host's paths."""

    def refuses(self, access: Access) -> str | None:
        """Why this access cannot be enforced here; None when it can."""
        ...

    def argv(self, view: View, info_fd: int) -> list[str]:
        """The program and its options, to be put before the shell's own."""
        ...

    def enforced(self, access: Access) -> tuple[str, ...]:
        """What holds."""
        ...

    def missing(self, access: Access) -> tuple[str, ...]:
        """What does not hold, although one may expect it."""
        ...
