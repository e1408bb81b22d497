"""The end of a command, as the hints see it."""

from typing import Any

from toolgate.shell.hints import FinishedCommand

FILE = (
    "The command hit the limit on the size of a file. Write smaller files; the operator can raise "
    "TOOLGATE_SHELL_FILE_MB."
)
MEMORY = "The command hit the limit on memory. Work on less at a time; the operator can raise TOOLGATE_SHELL_MEMORY_MB."
PROCESSES = (
    "The command hit the limit on the number of processes. Start fewer at a time; the operator can raise "
    "TOOLGATE_SHELL_PROCESSES."
)


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
