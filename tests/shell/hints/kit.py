"""The end of a command, as the hints see it."""

from typing import Any

from toolgate.shell.hints import FinishedCommand


def ending(**changes: Any) -> FinishedCommand:
    defaults: dict[str, Any] = {
        "command": "x",
        "access": "read",
        "layer": "landlock",
        "mounts": False,
        "root": "/p",
        "home": "/home/u",
        "directory": "/p",
        "exit_code": 1,
        "stdout": "",
        "stderr": "",
    }
    return FinishedCommand(**{**defaults, **changes})
