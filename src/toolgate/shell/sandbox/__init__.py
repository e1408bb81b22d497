"""What confines commands: the layers, and the choice among them."""

from __future__ import annotations

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode
from toolgate.shell.sandbox.layer import Layer


def choose_layer(wanted: str) -> Layer:
    """The layer that the operator named, or the best that works here. Never less than was asked for."""
    from toolgate.shell.sandbox.bubblewrap import find_bubblewrap

    if wanted in ("auto", "bwrap"):
        found = find_bubblewrap()
        if found is not None:
            return found
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        "No sandbox works on this machine, so commands are not run.",
        "Ask the operator to install bubblewrap, or to set TOOLGATE_SHELL_SANDBOX=off and run commands unconfined.",
    )
