"""Gives the host's devices back the modes that a command has changed.

If the runtime is root, so is a command, and root owns the devices. bubblewrap cannot mount them read-only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from toolgate.sandbox.landlock_rules import DEVICES


class DeviceModes:
    """The modes of some devices, as they were when this object was made."""

    def __init__(self, devices: Iterable[str]) -> None:
        self._modes: dict[str, int] = {}
        self._changed: dict[str, int] = {}
        """When each device was changed last, in nanoseconds."""
        for path in devices:
            with suppress(OSError):
                info = os.stat(path)
                self._modes[path], self._changed[path] = stat.S_IMODE(info.st_mode), info.st_ctime_ns

    def restore(self) -> list[str]:
        """Restore the modes, remove access lists, and return the devices that had others."""
        restored = []
        for path, mode in self._modes.items():
            if os.stat(path).st_ctime_ns == self._changed[path]:
                continue
            lists = [name for name in os.listxattr(path) if name.startswith("system.posix_acl")]
            for name in lists:
                os.removexattr(path, name)
            if lists or stat.S_IMODE(os.stat(path).st_mode) != mode:
                os.chmod(path, mode)
                restored.append(path)
            self._changed[path] = os.stat(path).st_ctime_ns
        return restored


@cache
def device_modes() -> DeviceModes:
    """Return the modes that the host's devices had when this process first asked."""
    return DeviceModes(DEVICES)
