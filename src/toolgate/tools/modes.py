"""Reads a mode that a program has written as the enum or as its text."""

from __future__ import annotations

from toolgate.errors import ModeError
from toolgate.protocol.modes import ApprovalMode, ToolMode


def mode_of(mode: object) -> ToolMode:
    """Return the `ToolMode`. Raises `ModeError` for everything else, texts that only resemble one included."""
    if type(mode) is ToolMode:
        return mode
    if type(mode) is str and mode in ToolMode.__members__:
        return ToolMode(mode)
    known = " or ".join(f"ToolMode.{known.value} ({known.value!r})" for known in ToolMode)
    raise ModeError(f"mode must be {known}, not {mode!r}")


def approval_mode_of(mode: str) -> ApprovalMode:
    """Return the `ApprovalMode`. Raises `ModeError` for what is none."""
    try:
        return ApprovalMode(mode)
    except ValueError:
        known = ", ".join(repr(known.value) for known in ApprovalMode)
        raise ModeError(f"approval_mode must be one of {known}, not {mode!r:.80}") from None
