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

_MODE = 0o666
"""The mode that every system gives these devices."""


class DeviceModes:
    """Some devices that everybody may use. One that has another mode when this object is made is left alone.

    Another process's command may just have changed it, and that process will restore it.
    """

    def __init__(self, devices: Iterable[str]) -> None:
        self._changed: dict[str, int] = {}
        """When each device was changed last, in nanoseconds."""
        for path in devices:
            with suppress(OSError):
                info = os.stat(path)
                if stat.S_IMODE(info.st_mode) == _MODE:
                    self._changed[path] = info.st_ctime_ns

    def restore(self) -> list[str]:
        """Restore the modes, remove access lists, and return the devices that had others."""
        restored = []
        for path, changed in self._changed.items():
            if os.stat(path).st_ctime_ns == changed:
                continue
            lists = [name for name in os.listxattr(path) if name.startswith("system.posix_acl")]
            for name in lists:
                os.removexattr(path, name)
            if lists or stat.S_IMODE(os.stat(path).st_mode) != _MODE:
                os.chmod(path, _MODE)
                restored.append(path)
            self._changed[path] = os.stat(path).st_ctime_ns
        return restored


@cache
def device_modes() -> DeviceModes:
    """Return the host's devices as they were when this process first asked."""
    return DeviceModes(DEVICES)
