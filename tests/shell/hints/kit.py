"""The end of a command, as the hints see it."""

from typing import Any

from toolgate.shell.hints import CommandEnd


def ending(**changes: Any) -> CommandEnd:
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
    return CommandEnd(**{**defaults, **changes})
