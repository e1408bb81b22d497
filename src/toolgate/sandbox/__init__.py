"""The sandbox: the layers that confine a process, and the choice among them.

Lives here: bubblewrap, namespaces, Landlock, seccomp, control groups, what a command sees, what protects `.git`.
May touch: kernel interfaces, private directories outside the project, and processes through `process/`.
Start reading: `layer.py` (what a layer promises), then `view_builder.py` (what a command sees).
"""

from __future__ import annotations

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.sandbox.layer import Layer


def choose_layer(wanted: str, writable: tuple[str, ...] = (), bubblewrap: str | None = None) -> Layer:
    """The layer that the operator named, or the best that works here. Never less than was asked for.

    No program is taken from the directories that commands can write; `bubblewrap` names the one to use.
    """
    from toolgate.sandbox.bubblewrap import find_bubblewrap
    from toolgate.sandbox.native_layers import NativeLayer, find_native

    if wanted == "off":
        return NativeLayer("off")
    found: Layer | None = find_bubblewrap(writable, bubblewrap) if wanted in ("auto", "bwrap") else None
    if found is None and wanted in ("auto", "landlock"):
        found = find_native()
    if found is not None:
        return found
    what = {"auto": "No sandbox works", "bwrap": "bubblewrap does not work", "landlock": "Landlock does not work"}
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{what.get(wanted, what['auto'])} on this machine, so commands are not run.",
        "Ask the operator to install bubblewrap, or to set TOOLGATE_SHELL_SANDBOX=off and run commands unconfined.",
    )
