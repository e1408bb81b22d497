"""The sandbox: the layers that confine a process, and the choice among them.

Lives here: bubblewrap, namespaces, Landlock, seccomp, control groups, what a command sees, what protects `.git`.
May touch: kernel interfaces, private directories outside the project, and processes through `process/`.
Start reading: `layer.py` (what a layer promises), then `view_builder.py` (what a command sees).
"""

from __future__ import annotations

from toolgate.errors import ToolError
from toolgate.protocol.choices import LAYERS, load
from toolgate.protocol.codes import ErrorCode
from toolgate.sandbox.layer import Layer


def choose_layer(wanted: str, writable: tuple[str, ...] = (), bubblewrap: str | None = None) -> Layer:
    """Return the layer that the operator named, or for `auto` the best one that works here. Never choose a weaker one.

    Programs in directories that commands can write are not used. `bubblewrap` names the bwrap to use.
    """
    chosen = [layer for layer in LAYERS.values() if layer.automatic] if wanted == "auto" else [LAYERS[wanted]]
    for layer in chosen:
        found: Layer | None = load(layer.find)(writable, bubblewrap)
        if found is not None:
            return found
    what = "No sandbox works" if wanted == "auto" else f"{LAYERS[wanted].title} does not work"
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{what} on this machine, so commands are not run.",
        "Ask the operator to install bubblewrap, or to set TOOLGATE_SHELL_SANDBOX=off and run commands unconfined.",
    )
