"""The mode of a session, fail-closed: a value that is missing, unknown or not enabled means `chat_safe`."""

from __future__ import annotations

from toolgate.errors import ModeNotEnabled
from toolgate.log import logger
from toolgate.protocol.modes import AnyMode, ToolMode

SAFE = ToolMode.chat_safe


def allowed(mode: AnyMode | None, *, default: ToolMode, coding_enabled: bool) -> ToolMode:
    """The mode that a new session gets, or `ModeNotEnabled`; `ValueError` for an invalid mode."""
    wanted = default if mode is None else ToolMode(mode)
    if wanted is not SAFE and not coding_enabled:
        raise ModeNotEnabled(
            f"The mode {wanted.value} is not enabled here; sessions are {SAFE.value}. The operator enables it with "
            "SESSION_CODING_ENABLED=true, a program with Settings.of(session={'coding_enabled': True}).session."
        )
    return wanted


def effective(value: object, *, coding_enabled: bool) -> ToolMode:
    """The mode of a stored value."""
    if value == ToolMode.coding.value and isinstance(value, str) and coding_enabled:
        return ToolMode.coding
    return SAFE


def warn_unless_plain(session_id: object, value: object, *, coding_enabled: bool) -> None:
    """Warn if a stored value is unknown, or is a mode that is not enabled."""
    known = isinstance(value, str) and value in (SAFE.value, ToolMode.coding.value)
    if not known:
        logger("sessions").warning("invalid_mode_value", session_id=session_id, value=value, used=SAFE.value)
    elif value == ToolMode.coding.value and not coding_enabled:
        logger("sessions").warning(
            "mode_downgraded",
            session_id=session_id,
            value=value,
            used=SAFE.value,
            # a fixed text, which tests/test_tool_modes.py looks for
            reason="M1.5 only supports chat_safe: coding is not enabled here",
        )


def warn_unreadable(session_id: object, reason: str, error: str) -> None:
    """Warn that the mode could not be read."""
    logger("sessions").warning("mode_read_error", session_id=session_id, value=None, error=error, reason=reason)
