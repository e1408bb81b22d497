"""Notices when mounts change: the kernel takes one away when somebody removes or replaces what it covers."""

from __future__ import annotations

import os
import select
from typing import Literal


class MountWatch:
    """Watches the mounts that a process sees, from now on, also after its end. Close it once.

    A change is noticed whatever the file is called, and also if a new file got the number of the old one.
    """

    def __init__(self, process: int | Literal["self"]) -> None:
        """Raises `OSError` if the process has ended, or may not be looked into."""
        self._fd = os.open(f"/proc/{process}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLPRI)
        self._changes = 0

    def changes(self) -> int:
        """Return a number that is higher if mounts have changed since the last call."""
        self._changes += bool(self._poll.poll(0))  # the kernel reports each change once
        return self._changes

    def close(self) -> None:
        """Let go of the mounts."""
        os.close(self._fd)
