"""Trials: short runs that show whether a layer works on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolgate.errors import ToolError
from toolgate.protocol.codes import ErrorCode

T = TypeVar("T")

TIMEOUTS = (10.0, 20.0)
"""Seconds for the first and for the second attempt."""


def run_trial(attempt: Callable[[float], T]) -> T:
    """Call `attempt` with a timeout in seconds, and once more with a longer one if it raises `TimeoutError`.

    Raise `ToolError` if both attempts time out. A busy machine does not show which layers work, so the caller must
    neither cache the time-out nor choose a weaker layer.
    """
    for timeout in TIMEOUTS:
        try:
            return attempt(timeout)
        except TimeoutError:
            continue
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"The sandbox could not be tested within {TIMEOUTS[-1]:g} s: the machine is too busy.",
        "Nothing was run. Make the call again later. If this repeats, tell the user.",
    )
